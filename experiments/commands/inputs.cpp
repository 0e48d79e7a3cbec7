#include "experiments/commands/inputs.h"

#include "experiments/engines/checkpoint_store.h"
#include "experiments/kinds/kinds.h"
#include "experiments/kinds/model_experiment.h"
#include "formats/output_file.h"

namespace octlm::experiments {

namespace fs = std::filesystem;

std::vector<fs::path> inputs_of(std::span<const verify::RunItem> items,
                                const LocalOptions& options) {
  const auto kinds = all_kinds();
  std::vector<fs::path> inputs(options.subject.begin(), options.subject.end());
  if (options.recorded) inputs.push_back(*options.recorded);
  for (const verify::RunItem& item : items) {
    inputs.push_back(item.spec.file);
    const verify::Kind& kind = verify::find_kind(item.spec.kind, kinds, item.spec.file.string());
    if (kind.files) {
      for (const auto& [name, file] : kind.files(item.spec)) inputs.push_back(file);
    }
    const auto* experiment = about_a_model(*item.experiment);
    if (experiment == nullptr) continue;
    const auto found = find_checkpoint(experiment->model(), options.models);
    if (const auto* checkpoint = std::get_if<CheckpointFolder>(&found))
      inputs.push_back(checkpoint->path);
  }
  return inputs;
}

void require_no_inputs(const fs::path& folder, std::span<const char* const> names,
                       std::span<const fs::path> inputs) {
  for (const char* name : names) formats::require_no_input(folder / name, inputs);
}

}  // namespace octlm::experiments
