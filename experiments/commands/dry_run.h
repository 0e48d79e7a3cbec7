// What a run of a spec would need and take here, without running it: for `octlm check`.
#pragma once

#include <filesystem>
#include <iosfwd>
#include <optional>

#include "experiments/commands/checked_spec.h"
#include "experiments/engines/checkpoint_store.h"
#include "experiments/kinds/model_experiment.h"

namespace octlm::experiments {

// Prints where the checkpoint is (or how to get it), the files of it that are others than the spec
// names, what of the cases does not fit it, an estimate of time and memory, and the places that are
// still to be written. Hashes the checkpoint's files; computes nothing.
void print_dry_run(std::ostream& out, const CheckedSpec& checked, const ModelPaths& models);

// About how long a run of it takes on the CPU here; absent when its files do not tell.
std::optional<double> estimated_seconds(const ModelExperiment& experiment,
                                        const std::filesystem::path& checkpoint);

}  // namespace octlm::experiments
