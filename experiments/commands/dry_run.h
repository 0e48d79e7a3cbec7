// What a run of a checked spec would find on this machine, without running it.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "experiments/commands/checked_spec.h"
#include "experiments/engines/checkpoint_store.h"
#include "experiments/kinds/model_experiment.h"

namespace octlm::experiments {

// Rough: sizes times a typical machine.
struct Estimate {
  double seconds = 0;
  double bytes = 0;
};

struct DryRun {
  std::optional<std::filesystem::path> checkpoint;  // its folder
  std::string absent;                               // why there is none here, and what changes that
  // What would make the run an error: a file that is another, a case that is not as the spec says.
  std::vector<std::string> findings;
  std::optional<Estimate> estimate;
  // Of comparisons whose ids only the tokenizer knows: what they measure (verify/measures.h).
  std::vector<std::string> measures;
};

// Hashes the checkpoint's files.
DryRun dry_run(const CheckedSpec& checked, const ModelPaths& models);

// What a run of it takes on the CPU here; absent when the checkpoint's files do not tell.
std::optional<Estimate> estimate_of(const ModelExperiment& experiment,
                                    const std::filesystem::path& checkpoint);
// "about 40 s on the cpu here and 1.2 GB of memory (rough: ...)"
std::string estimate_text(const Estimate& estimate);

// What `octlm check` finds in a spec that can be read: places that are still to be written, and the
// findings of a dry run. A claim with any is not for the ledger: throws formats::FormatError. Adds to
// the spec what a dry run knows of its measures.
void require_claimable(CheckedSpec& checked);

}  // namespace octlm::experiments
