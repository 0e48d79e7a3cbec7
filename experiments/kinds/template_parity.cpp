#include "experiments/kinds/template_parity.h"

#include <utility>

#include "experiments/kinds/starting_parts.h"
#include "experiments/kinds/text_comparison.h"
#include "experiments/kinds/text_parity.h"

namespace octlm::experiments {
namespace {

// Of text_metrics() those that a chat has.
std::vector<verify::MetricDefinition> chat_metrics() {
  std::vector<verify::MetricDefinition> metrics;
  for (const auto& metric : text_metrics()) {
    if (metric.name != "roundtrip_equal@1" && metric.name != "offsets_equal@1")
      metrics.push_back(metric);
  }
  return metrics;
}

nlohmann::ordered_json start(const std::string& checkpoint) {
  using Json = nlohmann::ordered_json;
  Json spec = start_with_model(checkpoint, "the chat template matches Transformers", is_text).spec;
  spec["reference"] = {{"engine", "transformers"}};
  spec["subject"] = {{"engine", "octlm"}};
  spec["cases"] = {{{"name", "REPLACE: your chat, a file beside the spec or one folder above"},
                    {"chat", "prompts/one-question.json"}}};
  spec["parameters"] = Json::object();
  spec["criteria"] = {start_equal("text_equal@1", "a chat has one rendering"),
                      start_equal("ids_equal@1", "one other id is another prompt"),
                      {{"metric", "control_ids_from_text@1"}, {"equals", 0}}};
  spec["also_record"] = Json::array();
  return spec;
}

}  // namespace

verify::Kind template_parity() {
  return {
      .name = "template_parity",
      .summary = "the rendered text of chats and its ids, against Transformers",
      .role = verify::Role::kParity,
      .metrics = chat_metrics(),
      .scales = text_scales(),
      .parts = {"model", "reference", "subject", "cases"},
      .read =
          [](const verify::Spec& spec) { return make_text_parity(spec, read_chat_cases(spec)); },
      .files =
          [](const verify::Spec& spec) { return files_of(read_chat_cases(spec, Prompts::kNamed)); },
      .start = start};
}

}  // namespace octlm::experiments
