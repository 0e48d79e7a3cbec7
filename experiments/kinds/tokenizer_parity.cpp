#include "experiments/kinds/tokenizer_parity.h"

#include <utility>

#include "experiments/kinds/starting_parts.h"
#include "experiments/kinds/text_comparison.h"
#include "experiments/kinds/text_parity.h"

namespace octlm::experiments {
namespace {

nlohmann::ordered_json start(const std::string& checkpoint) {
  using Json = nlohmann::ordered_json;
  Json spec = start_with_model(checkpoint, "the tokenizer matches Hugging Face", is_text).spec;
  spec["reference"] = {{"engine", "transformers"}};
  spec["subject"] = {{"engine", "octlm"}};
  spec["cases"] = {
      {{"name", "REPLACE: a text"}, {"mode", "literal"}, {"text", "REPLACE: your text, é 中 42"}},
      {{"name", "10,000 random texts"},
       {"mode", "literal"},
       {"texts", {{"set", "random_texts@1"}, {"count", 10000}, {"seed", 1}}}}};
  spec["parameters"] = Json::object();
  spec["criteria"] = {start_equal("ids_equal@1", "one other id is another prompt"),
                      start_equal("text_equal@1", "the same ids have one text"),
                      {{"metric", "control_ids_from_text@1"}, {"equals", 0}}};
  spec["also_record"] = Json::array();
  return spec;
}

}  // namespace

verify::Kind tokenizer_parity() {
  return {
      .name = "tokenizer_parity",
      .summary = "the ids of texts and chats, and the text of ids, against Hugging Face",
      .role = verify::Role::kParity,
      .metrics = text_metrics(),
      .scales = text_scales(),
      .parts = {"model", "reference", "subject", "cases"},
      .read =
          [](const verify::Spec& spec) { return make_text_parity(spec, read_text_cases(spec)); },
      .files =
          [](const verify::Spec& spec) { return files_of(read_text_cases(spec, Prompts::kNamed)); },
      .start = start};
}

}  // namespace octlm::experiments
