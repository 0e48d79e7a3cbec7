#include "experiments/commands/new_spec.h"

namespace octlm::experiments {

nlohmann::ordered_json new_spec(const verify::Kind& kind, const std::string& id,
                                const std::string& subject, const std::string& schema) {
  const nlohmann::ordered_json parts = kind.start(subject);
  nlohmann::ordered_json spec;
  if (!schema.empty()) spec["$schema"] = schema;
  spec["schema"] = 1;
  spec["id"] = id;
  spec["title"] = parts.at("title");
  spec["kind"] = kind.name;
  spec["tags"] = nlohmann::ordered_json::array();
  spec["question"] =
      "REPLACE: what do you want to know? One sentence that ends with a question mark.";
  spec["prediction"] = "REPLACE: what do you expect, in numbers, before the first run?";
  for (const auto& [name, part] : parts.items()) spec[name] = part;
  spec["stop_rule"] = "A failure is reported, never re-rolled.";
  return spec;
}

}  // namespace octlm::experiments
