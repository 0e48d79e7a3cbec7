// Where checkpoints are found on this machine, and whether they are the ones a spec names. Folders
// are looked for in this order:
//   1. --model NAME=PATH of the command line
//   2. octlm's cache, which `octlm fetch` fills, ${XDG_CACHE_HOME:-~/.cache}/octlm/checkpoints:
//      NAME, or ORG--NAME/REVISION for a hub id
//   3. Hugging Face's cache, for a hub id: .../hub/models--ORG--NAME/snapshots/REVISION
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "experiments/engines/environment.h"

namespace octlm::experiments {

// NAME -> folder, from --model.
using ModelPaths = std::map<std::string, std::filesystem::path>;

// NAME=PATH, as --model takes it. Throws std::invalid_argument when it is not that, or PATH is no
// folder.
struct NamedFolder {
  std::string name;
  std::filesystem::path folder;  // absolute
};
NamedFolder named_folder(const std::string& argument);

// Parses "NAME=PATH". Throws std::invalid_argument when it has no '=' or PATH is no folder.
void add_model_path(ModelPaths& paths, const std::string& argument);

std::filesystem::path checkpoint_cache();

// The folder, or NotRun{needs "weights"} with the command that gets it.
OrNotRun<CheckpointFolder> find_checkpoint(const ModelReference& model, const ModelPaths& paths);

// The folder of --model PATH|NAME: an existing folder, or a name to look up; a hub id without its
// revision is found when exactly one revision is in the cache. Throws std::invalid_argument.
std::filesystem::path resolve_model_argument(const std::string& argument);

// A size that the checkpoint's config.json states, "vocab_size"; 0 when it does not. Nothing else
// of the file is read: another engine may know architectures that ours refuses.
std::int64_t stated_size(const std::filesystem::path& folder, const char* name);

// Is this a checkpoint that the launcher makes before a run, without being asked?
bool is_default_checkpoint(const std::string& id);

// "model.safetensors: sha256 is ..., the spec names ..." for each file of the model that is absent
// or another. Hashes the files.
std::vector<std::string> mismatched_files(const std::filesystem::path& folder,
                                          const ModelReference& model);

// Which checkpoint this is, so that a run is resumed on the same one and an attempt on a mended one
// is a new one: the hashes that the model states, and those of what else engines read there.
// Weights that are not stated are left out where others are: no engine of this experiment reads
// them.
nlohmann::json checkpoint_identity(const std::filesystem::path& folder,
                                   const ModelReference& model);

// Throws std::runtime_error that lists mismatched_files, if any: an experiment is about these
// weights.
void require_files(const std::filesystem::path& folder, const ModelReference& model);

}  // namespace octlm::experiments
