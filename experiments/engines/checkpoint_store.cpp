#include "experiments/engines/checkpoint_store.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <stdexcept>
#include <utility>

#include "formats/json_reader.h"
#include "formats/sha256.h"
#include "formats/shell_words.h"

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

bool is_weights(const std::string& name) {
  return name.ends_with(".safetensors") || name.ends_with(".bin") || name.ends_with(".pt");
}

// What engines read of a checkpoint's folder: weights, configuration, vocabulary, templates.
bool is_read(const std::string& name) {
  constexpr std::array kEndings = {".json", ".jinja", ".txt", ".model"};
  return !name.starts_with(".") &&
         (is_weights(name) ||
          std::ranges::any_of(kEndings, [&](auto end) { return name.ends_with(end); }));
}

bool is_checkpoint(const fs::path& folder) { return fs::exists(folder / "config.json"); }

// "ORG/NAME", as the hub names its repositories.
bool is_hub_id(const std::string& id) {
  const auto slash = id.find('/');
  constexpr const char* kLetters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
  const auto is_name = [&](const std::string& name) {
    return !name.empty() && name.find_first_not_of(kLetters) == std::string::npos &&
           std::isalnum(static_cast<unsigned char>(name.front())) != 0;
  };
  return slash != std::string::npos && is_name(id.substr(0, slash)) &&
         is_name(id.substr(slash + 1));
}

bool is_commit(const std::string& text) {
  return text.size() == 40 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

// The command that gets a checkpoint; "" for one that no command can get. A hub id needs its
// commit, but for the one that the project pins (setup/checkpoints/catalogue.py).
std::string fetch_command(const std::string& id, const std::string& revision) {
  constexpr std::array kKnown = {"smollm2-135m-instruct", "qwen3-0.6b-synthetic",
                                 "qwen3-mini-synthetic", "Qwen/Qwen3-0.6B"};
  const bool known = std::ranges::find(kKnown, id) != kKnown.end();
  const std::string command = "./octlm fetch " + id;
  if (is_hub_id(id) && is_commit(revision)) return command + " --revision " + revision;
  if (known && revision.empty()) return command;
  return is_hub_id(id) && revision.empty() ? command + " --revision COMMIT" : "";
}

}  // namespace

// A name may have an equals sign in it, and so may a path: the first division that gives a folder.
NamedFolder named_folder(const std::string& argument) {
  const auto first = argument.find('=');
  if (first == std::string::npos || first == 0 || first + 1 == argument.size()) {
    throw std::invalid_argument("--model " + argument + ": expected NAME=PATH");
  }
  for (auto at = first; at != std::string::npos; at = argument.find('=', at + 1)) {
    const fs::path folder = argument.substr(at + 1);
    if (fs::is_directory(folder)) return {argument.substr(0, at), fs::absolute(folder)};
  }
  throw std::invalid_argument("--model " + argument + ": " + argument.substr(first + 1) +
                              " is not a folder");
}

void add_model_path(ModelPaths& paths, const std::string& argument) {
  auto [name, folder] = named_folder(argument);
  paths[name] = std::move(folder);
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
  const std::string fetch = fetch_command(model.id, model.revision);
  return verify::NotRun{"no weights of " + model.id + " here; " +
                            (fetch.empty() ? "give their folder: --model " +
                                                 formats::shell_quoted(model.id + "=FOLDER")
                                           : "get them with: " + fetch),
                        "weights"};
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
  const std::string fetch = fetch_command(argument, "");
  throw std::invalid_argument("--model " + argument +
                              ": neither a folder nor a checkpoint in the cache" +
                              (fetch.empty() ? "" : "; get it with: " + fetch));
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
  nlohmann::json files = model.files;
  if (model.files.empty()) files = nlohmann::json::object();
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    const bool counts = is_read(name) && (model.files.empty() || !is_weights(name));
    if (counts && entry.is_regular_file() && !files.contains(name))
      files[name] = formats::sha256_file(entry.path());
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
