#include "experiments/kinds/model_experiment.h"

#include <stdexcept>

namespace octlm::experiments {

verify::Opened ModelExperiment::open(const std::string& device, const verify::Host& host) const {
  const auto* environment = dynamic_cast<const Environment*>(&host);
  if (environment == nullptr) {
    throw std::invalid_argument("[open] the host is not an Environment: nothing says where " +
                                model().id + " is");
  }
  return open_on(device, *environment);
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
