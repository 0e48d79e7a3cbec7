#include "experiments/kinds/model_experiment.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "experiments/kinds/watched_files.h"

namespace octlm::experiments {

verify::Opened ModelExperiment::open(const std::string& device, const verify::Host& host) const {
  const auto* environment = dynamic_cast<const Environment*>(&host);
  if (environment == nullptr) {
    throw std::invalid_argument("[open] the host is not an Environment: nothing says where " +
                                model().id + " is");
  }
  const auto found = environment->find_checkpoint(model());
  const auto* checkpoint = std::get_if<CheckpointFolder>(&found);
  if (checkpoint == nullptr) return open_on(device, *environment);
  WatchedFiles watched(checkpoint->path, model(), reads());
  auto opened = open_on(device, *environment);
  auto* session = std::get_if<std::unique_ptr<verify::Session>>(&opened);
  if (session == nullptr || *session == nullptr) return opened;
  return watch(std::move(watched), std::move(*session));
}

Reads ModelExperiment::reads() const {
  const auto cases = sequences();
  return {.weights = true, .text = std::ranges::any_of(cases, [](const TokenCase& one) {
                             return one.token_ids.empty();
                           })};
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
