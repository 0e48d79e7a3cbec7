#include "experiments/engines/checkpoint_store.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <stdexcept>

#include "formats/json_reader.h"
#include "formats/sha256.h"

namespace octlm::experiments {
namespace {

namespace fs = std::filesystem;

// An absolute path from the environment, else `fallback` under the home folder.
fs::path folder_from(const char* variable, const char* fallback) {
  const char* value = std::getenv(variable);
  if (value != nullptr && fs::path(value).is_absolute()) return value;
  const char* home = std::getenv("HOME");
  return fs::path(home != nullptr ? home : "/") / fallback;
}

fs::path hub_cache() {
  const char* hub = std::getenv("HF_HUB_CACHE");
  if (hub != nullptr && fs::path(hub).is_absolute()) return hub;
  return folder_from("HF_HOME", ".cache/huggingface") / "hub";
}

// "Qwen/Qwen3-0.6B" -> "Qwen--Qwen3-0.6B"
std::string folder_name(const std::string& id) {
  std::string name = id;
  const auto slash = name.find('/');
  if (slash != std::string::npos) name.replace(slash, 1, "--");
  return name;
}

std::vector<fs::path> candidates(const ModelReference& model) {
  if (model.revision.empty()) return {checkpoint_cache() / folder_name(model.id)};
  return {checkpoint_cache() / folder_name(model.id) / model.revision,
          hub_cache() / ("models--" + folder_name(model.id)) / "snapshots" / model.revision};
}

bool is_checkpoint(const fs::path& folder) { return fs::exists(folder / "config.json"); }

}  // namespace

void add_model_path(ModelPaths& paths, const std::string& argument) {
  const auto equals = argument.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == argument.size()) {
    throw std::invalid_argument("--model " + argument + ": expected NAME=PATH");
  }
  const fs::path folder = argument.substr(equals + 1);
  if (!fs::is_directory(folder)) {
    throw std::invalid_argument("--model " + argument + ": " + folder.string() +
                                " is not a folder");
  }
  paths[argument.substr(0, equals)] = fs::absolute(folder);
}

fs::path checkpoint_cache() {
  return folder_from("XDG_CACHE_HOME", ".cache") / "octlm" / "checkpoints";
}

OrNotRun<CheckpointFolder> find_checkpoint(const ModelReference& model, const ModelPaths& paths) {
  if (const auto given = paths.find(model.id); given != paths.end()) {
    return CheckpointFolder{given->second};
  }
  for (const fs::path& folder : candidates(model)) {
    if (is_checkpoint(folder)) return CheckpointFolder{folder};
  }
  return verify::NotRun{
      "no weights of " + model.id + " here; get them with: ./octlm fetch " + model.id, "weights"};
}

fs::path resolve_model_argument(const std::string& argument) {
  if (fs::is_directory(argument)) return fs::absolute(argument);
  const fs::path named = checkpoint_cache() / folder_name(argument);
  if (is_checkpoint(named)) return named;
  std::vector<fs::path> revisions;
  for (const fs::path& folder :
       {named, hub_cache() / ("models--" + folder_name(argument)) / "snapshots"}) {
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(folder, ignored)) {
      if (is_checkpoint(entry.path())) revisions.push_back(entry.path());
    }
    if (!revisions.empty()) break;
  }
  if (revisions.size() == 1) return revisions.front();
  if (revisions.size() > 1) {
    throw std::invalid_argument("--model " + argument + ": " + std::to_string(revisions.size()) +
                                " revisions are in the cache; give the folder of one, such as " +
                                revisions.front().string());
  }
  throw std::invalid_argument(
      "--model " + argument +
      ": neither a folder nor a checkpoint in the cache; get it with: ./octlm fetch " + argument);
}

std::int64_t stated_size(const fs::path& folder, const char* name) {
  if (!fs::exists(folder / "config.json")) return 0;
  const auto config = formats::read_strict(folder / "config.json");
  const auto size = config.is_object() ? config.find(name) : config.end();
  return size != config.end() && size->is_number_integer()
             ? std::max<std::int64_t>(0, size->get<std::int64_t>())
             : 0;
}

bool is_default_checkpoint(const std::string& id) {
  static constexpr std::array kDefaults = {"smollm2-135m-instruct", "qwen3-0.6b-synthetic"};
  return std::ranges::find(kDefaults, id) != kDefaults.end();
}

std::vector<std::string> mismatched_files(const fs::path& folder, const ModelReference& model) {
  std::vector<std::string> mismatches;
  for (const auto& [name, expected] : model.files) {
    const fs::path file = folder / name;
    if (!fs::exists(file)) {
      mismatches.push_back(name + ": absent from " + folder.string());
      continue;
    }
    const std::string found = formats::sha256_file(file);
    if (found != expected) {
      mismatches.push_back(name + ": sha256 is " + found + ", the spec names " + expected);
    }
  }
  return mismatches;
}

nlohmann::json checkpoint_identity(const std::filesystem::path& folder,
                                   const ModelReference& model) {
  if (!model.files.empty()) return model.files;
  nlohmann::json files = nlohmann::json::object();
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    files[entry.path().filename().string()] = {entry.file_size(),
                                               entry.last_write_time().time_since_epoch().count()};
  }
  return files;
}

void require_files(const fs::path& folder, const ModelReference& model) {
  const auto mismatches = mismatched_files(folder, model);
  if (mismatches.empty()) return;
  std::string message = folder.string() + " is not the checkpoint this experiment is about:";
  for (const std::string& mismatch : mismatches) message += " " + mismatch + ";";
  throw std::runtime_error(message + " check another checkpoint with a spec of its own");
}

}  // namespace octlm::experiments
