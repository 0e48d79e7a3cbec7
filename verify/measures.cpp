#include "verify/measures.h"

#include <stdexcept>

#include "formats/canonical_json.h"
#include "formats/sha256.h"

namespace octlm::verify {
namespace {

using Json = nlohmann::json;

// By name; of a spec whose cases have none, null.
std::map<std::string, Json> cases_of(const Spec& spec) {
  std::map<std::string, Json> cases;
  const auto list = spec.raw.find("cases");
  if (list == spec.raw.end() || !list->is_array()) return cases;
  for (Json one : *list) {
    if (!one.is_object()) continue;
    const std::string name = one.value("name", "");
    one.erase("name");
    for (Json& member : one) {
      if (!member.is_string()) continue;
      const auto file = spec.file_sha256.find(member.get<std::string>());
      if (file != spec.file_sha256.end()) member = file->second;
    }
    cases[name] = std::move(one);
  }
  return cases;
}

std::vector<Json> as_the_spec_says(const Spec& spec, const std::vector<ComparisonKey>& keys) {
  const auto cases = cases_of(spec);
  const Json model = spec.raw.value("model", Json());
  const Json parameters = spec.raw.value("parameters", Json::object());
  std::vector<Json> measured;
  for (const ComparisonKey& key : keys) {
    const auto one = cases.find(key.case_name);
    measured.push_back({{"model", model},
                        {"case", one == cases.end() ? Json(key.case_name) : one->second},
                        {"parameters", parameters}});
  }
  return measured;
}

}  // namespace

std::string measure(std::string_view kind, const ComparisonKey& key, const Json& measured) {
  return formats::sha256(formats::canonical_json({{"kind", kind},
                                                  {"path", key.path},
                                                  {"device", key.device},
                                                  {"dtype", key.dtype},
                                                  {"measured", measured}}));
}

std::vector<std::string> measures(const Spec& spec, const Experiment& experiment) {
  const std::vector<ComparisonKey> keys = experiment.comparisons();
  std::vector<Json> measured = experiment.measured();
  if (measured.empty()) measured = as_the_spec_says(spec, keys);
  if (measured.size() != keys.size())
    throw std::logic_error("[measures] one for each of comparisons()");
  std::vector<std::string> digests;
  for (std::size_t i = 0; i < keys.size(); ++i)
    digests.push_back(measure(spec.kind, keys[i], measured[i]));
  return digests;
}

}  // namespace octlm::verify
