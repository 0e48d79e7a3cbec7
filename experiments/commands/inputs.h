// What a command reads, so that it never writes over it (formats/output_file.h).
#pragma once

#include <filesystem>
#include <span>
#include <vector>

#include "experiments/engines/local_environment.h"
#include "verify/runner.h"

namespace octlm::experiments {

// Files and folders that a run of these experiments reads, as far as that is known before: specs,
// prompts, checkpoints, the recording, what the words of the subject name.
std::vector<std::filesystem::path> inputs_of(std::span<const verify::RunItem> items,
                                             const LocalOptions& options);

// Throws std::invalid_argument when a file of `folder` with one of these names is an input.
void require_no_inputs(const std::filesystem::path& folder, std::span<const char* const> names,
                       std::span<const std::filesystem::path> inputs);

}  // namespace octlm::experiments
