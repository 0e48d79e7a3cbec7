#include "experiments/kinds/starting_parts.h"

#include <algorithm>
#include <stdexcept>

#include "experiments/engines/checkpoint_store.h"
#include "formats/sha256.h"

namespace octlm::experiments {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

// {"id", "revision"?, "files"}: a folder of a Hugging Face cache,
// .../models--ORG--NAME/snapshots/REVISION, and of octlm's, .../ORG--NAME/REVISION, tells its hub
// id; another goes by its own name.
Json model_part(const std::string& argument, const fs::path& folder,
                bool (*is_about)(const std::string& file)) {
  const fs::path whole = fs::weakly_canonical(fs::absolute(folder));
  const std::string last = whole.filename().string();
  Json model = {{"id", last}};
  if (last.size() == 40 && last.find_first_not_of("0123456789abcdef") == std::string::npos) {
    std::string name = whole.parent_path().filename().string();
    if (name == "snapshots") name = whole.parent_path().parent_path().filename().string();
    if (name.starts_with("models--")) name.erase(0, 8);
    if (const auto dash = name.find("--"); dash != std::string::npos) name.replace(dash, 2, "/");
    model = {{"id", fs::is_directory(argument) ? name : argument}, {"revision", last}};
  }
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(whole)) {
    const std::string name = entry.path().filename().string();
    if (is_about(name)) files.push_back(entry.path());
  }
  std::ranges::sort(files);
  model["files"] = Json::object();
  for (const fs::path& file : files)
    model["files"][file.filename().string()] = "sha256:" + formats::sha256_file(file);
  return model;
}

}  // namespace

ModelStart start_with_model(const std::string& checkpoint, const std::string& claim,
                            bool (*is_about)(const std::string& file)) {
  ModelStart start;
  start.folder = resolve_model_argument(checkpoint);
  start.vocab = stated_size(start.folder, "vocab_size");
  if (start.vocab < 1)
    throw std::invalid_argument(start.folder.string() + ": no config.json with a \"vocab_size\"");
  const Json model = model_part(checkpoint, start.folder, is_about);
  start.spec = {{"title", model["id"].get<std::string>() + ": " + claim}, {"model", model}};
  return start;
}

bool is_weights(const std::string& file) {
  return file == "config.json" || file.ends_with(".safetensors") ||
         file.ends_with(".safetensors.index.json");
}

bool is_text(const std::string& file) {
  return file == "tokenizer.json" || file == "tokenizer_config.json" ||
         file == "chat_template.jinja";
}

Json start_ids(std::int64_t count, std::int64_t vocab) {
  Json ids = Json::array();
  for (std::int64_t i = 0; i < count; ++i) ids.push_back((7 + i * 7919) % vocab);
  return ids;
}

Json start_reference() {
  return {
      {"engine", "transformers"}, {"attention", "eager"}, {"dtype", "float32"}, {"tf32", false}};
}

Json start_subject(const std::vector<std::string>& paths) {
  return {{"engine", "octlm"}, {"dtype", "float32"}, {"devices", {"cpu"}}, {"paths", paths}};
}

void start_parity_criteria(Json& spec) {
  spec["criteria"] = {
      {{"metric", "max_abs_error@1"},
       {"at_most", 1e-3},
       {"derivation",
        "REPLACE: what does rounding give on this model, what would a bug give, and why does the "
        "bound lie between? (On 24 to 30 layers, float32 rounding gives 1e-4; a mapping bug moves "
        "logits by their range, about 30.)"}},
      {{"metric", "finite@1"}, {"equals", true}}};
  spec["also_record"] = {"mean_abs_error@1", "top1_agreement@1", "kl_max@1", "rel_l2@1",
                         "max_ulp@1"};
}

Json start_equal(const char* metric, const char* derivation) {
  return {{"metric", metric}, {"equals", 1}, {"derivation", derivation}};
}

}  // namespace octlm::experiments
