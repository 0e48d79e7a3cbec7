#include "experiments/engines/files_read.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include "formats/error.h"
#include "formats/strict_json.h"

namespace octlm::experiments {
namespace {

namespace fs = std::filesystem;

constexpr const char* kIndex = "model.safetensors.index.json";
constexpr const char* kTokenizerConfig = "tokenizer_config.json";
constexpr const char* kTemplates = "additional_chat_templates";
constexpr std::size_t kMaxIndexBytes = 100'000'000;

// An object, whatever else the file is: who loads the checkpoint says what is wrong with it.
nlohmann::json object_in(const fs::path& file, std::size_t limit_bytes) {
  try {
    auto document = formats::parse_or_discard(formats::read_file(file, limit_bytes));
    if (document.is_object()) return document;
  } catch (const formats::FormatError&) {
  }
  return nlohmann::json::object();
}

std::set<std::string> shards_of(const fs::path& index) {
  std::set<std::string> shards;
  const auto document = object_in(index, kMaxIndexBytes);
  const auto map = document.find("weight_map");
  if (map == document.end() || !map->is_object()) return shards;
  for (const auto& [tensor, file] : map->items()) {
    if (file.is_string()) shards.insert(file.get<std::string>());
  }
  return shards;
}

bool is_code(std::string_view name) { return name.ends_with(".py"); }

bool is_any_of(const std::string& name, std::initializer_list<std::string_view> names) {
  return std::ranges::find(names, name) != names.end();
}

bool is_of_weights(const std::string& name, const std::set<std::string>& shards) {
  return is_any_of(name, {"config.json", "model.safetensors", "adapter_config.json",
                          "adapter_model.safetensors"}) ||
         name.ends_with(".safetensors.index.json") || is_code(name) || shards.contains(name);
}

// tokenizer_config.json says itself what else would stand in the other file.
bool says(const nlohmann::json& config, const char* member) { return config.contains(member); }

bool is_of_text(const std::string& name, const nlohmann::json& config) {
  if (name == "special_tokens_map.json") return !says(config, "added_tokens_decoder");
  if (name == "config.json") return !says(config, "tokenizer_class");
  return is_any_of(name, {"tokenizer.json", kTokenizerConfig, "added_tokens.json",
                          "tokenizer.model", "chat_template.jinja", "chat_template.json"}) ||
         name.starts_with(std::string(kTemplates) + "/") || is_code(name);
}

void add_names(const fs::path& folder, const std::string& before, std::vector<std::string>& names) {
  std::error_code absent;
  for (const auto& entry : fs::directory_iterator(folder, absent)) {
    const std::string name = entry.path().filename().string();
    std::error_code ignored;
    if (!entry.is_directory(ignored)) names.push_back(before + name);
  }
}

// Of the folder itself, and of the one below it that engines look into.
std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  add_names(folder, "", names);
  add_names(folder / kTemplates, std::string(kTemplates) + "/", names);
  std::ranges::sort(names);
  return names;
}

}  // namespace

std::vector<std::string> files_read(const fs::path& folder, Reads reads) {
  const std::set<std::string> shards = shards_of(folder / kIndex);
  const nlohmann::json config = object_in(folder / kTokenizerConfig, formats::kMaxFileBytes);
  std::vector<std::string> read = names_in(folder);
  std::erase_if(read, [&](const std::string& name) {
    return !(reads.weights && is_of_weights(name, shards)) &&
           !(reads.text && is_of_text(name, config));
  });
  return read;
}

std::vector<std::string> files_known(const fs::path& folder) {
  constexpr std::array<std::string_view, 6> kEndings = {".json",  ".jinja",       ".txt",
                                                        ".model", ".safetensors", ".py"};
  std::vector<std::string> known = names_in(folder);
  std::erase_if(known, [&](const std::string& name) {
    return name.starts_with(".") ||
           std::ranges::none_of(kEndings, [&](auto end) { return name.ends_with(end); });
  });
  return known;
}

}  // namespace octlm::experiments
