#include "experiments/kinds/model_experiment.h"

#include <map>
#include <stdexcept>

#include "reference/request.h"

namespace octlm::experiments {

verify::Opened ModelExperiment::open(const std::string& device, const verify::Host& host) const {
  const auto* environment = dynamic_cast<const Environment*>(&host);
  if (environment == nullptr) {
    throw std::invalid_argument("[open] the host is not an Environment: nothing says where " +
                                model().id + " is");
  }
  return open_on(device, *environment);
}

nlohmann::json measured_of(const ModelReference& model, const TokenCase& token_case) {
  nlohmann::json weights = nlohmann::json::array();
  for (const auto& [name, sha256] : model.files) {
    if (name.ends_with(".safetensors")) weights.push_back(sha256);
  }
  if (weights.empty()) weights = {model.id, model.revision};
  if (!token_case.token_ids.empty())
    return {{"weights", weights}, {"ids", reference::sha256_of_ids(token_case.token_ids)}};
  if (token_case.chat) return {{"weights", weights}, {"chat", *token_case.chat}};
  return {{"weights", weights}, {"mode", token_case.mode}, {"text", token_case.text}};
}

std::vector<nlohmann::json> ModelExperiment::measured() const {
  std::map<std::string, nlohmann::json> by_case;
  for (const TokenCase& one : sequences()) by_case[one.name] = measured_of(model(), one);
  std::vector<nlohmann::json> measured;
  if (by_case.empty()) return measured;  // as the spec says it
  for (const verify::ComparisonKey& key : comparisons()) measured.push_back(by_case[key.case_name]);
  return measured;
}

const ModelExperiment* about_a_model(const verify::Experiment& experiment) {
  return dynamic_cast<const ModelExperiment*>(&experiment);
}

void add_pass(Work& work, const reference::Split& path, std::int64_t positions) {
  if (positions < 1) return;
  if (const auto calls = path.calls(positions)) {
    work.passes.push_back({positions, std::ssize(*calls)});
  }
}

}  // namespace octlm::experiments
