#include "reference/recorded/recorded_settings.h"

#include <utility>
#include <vector>

namespace octlm::reference {
namespace {

using nlohmann::json;
using Expected = std::vector<std::pair<const char*, json>>;

// As paths into the settings.
Expected expected_settings(const EngineDescription& producer, const RecordingKey& key) {
  Expected expected = {{"/dtype", key.dtype}, {"/attention", key.attention}};
  if (producer.engine != "transformers") return expected;
  const Expected more = {{"/transformers", producer.version},
                         {"/training", false},
                         {"/cuda.matmul.allow_tf32", key.tf32},
                         {"/cudnn.allow_tf32", key.tf32},
                         {"/float32_matmul_precision", key.tf32 ? "high" : "highest"},
                         {"/allow_fp16_reduced_precision_reduction", false},
                         {"/allow_bf16_reduced_precision_reduction", false}};
  expected.insert(expected.end(), more.begin(), more.end());
  if (!key.tf32) expected.emplace_back("/tf32_probe/exact", true);
  return expected;
}

}  // namespace

std::string settings_contradiction(const EngineDescription& producer, const RecordingKey& key) {
  const json& settings = producer.settings;
  if (!settings.is_object()) return "is " + settings.dump() + ", expected an object";
  for (const auto& [path, expected] : expected_settings(producer, key)) {
    const json::json_pointer at(path);
    const std::string name = "\"" + std::string(path + 1) + "\"";
    if (!settings.contains(at)) return name + " is missing, expected " + expected.dump();
    constexpr auto kReplace = json::error_handler_t::replace;
    if (settings.at(at) != expected) {
      return name + " is " + settings.at(at).dump(-1, ' ', false, kReplace) + ", expected " +
             expected.dump();
    }
  }
  return "";
}

}  // namespace octlm::reference
