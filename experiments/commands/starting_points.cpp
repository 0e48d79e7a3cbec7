#include "experiments/commands/starting_points.h"

#include <vector>

#include "model/checkpoint.h"

namespace octlm::experiments {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

// Ids spread over the vocabulary, none of them the first few: those are often controls.
Json ids_of(std::int64_t count, std::int64_t vocab) {
  Json ids = Json::array();
  for (std::int64_t i = 0; i < count; ++i) ids.push_back((7 + i * 7919) % vocab);
  return ids;
}

const Json kTransformers = {
    {"engine", "transformers"}, {"attention", "eager"}, {"dtype", "float32"}, {"tf32", false}};

Json bound(const char* metric, double at_most, const char* derivation) {
  return {{"metric", metric}, {"at_most", at_most}, {"derivation", derivation}};
}

Json parity_criteria() {
  return {bound("max_abs_error@1", 1e-3,
                "REPLACE: what does rounding give on this model, what would a bug give, and why "
                "does the bound lie between? "
                "(On 24 to 30 layers, float32 rounding gives 1e-4; a mapping bug moves logits by "
                "their range, about 30.)"),
          {{"metric", "finite@1"}, {"equals", true}}};
}

Json all_equal(const char* metric, const char* derivation) {
  return {{"metric", metric}, {"equals", 1}, {"derivation", derivation}};
}

const std::vector<const char*> kAlso = {"mean_abs_error@1", "top1_agreement@1", "kl_max@1",
                                        "rel_l2@1", "max_ulp@1"};

void logit_parity(Json& spec, const fs::path&, std::int64_t vocab) {
  spec["reference"] = kTransformers;
  spec["subject"] = {{"engine", "octlm"},
                     {"dtype", "float32"},
                     {"devices", {"cpu"}},
                     {"paths", {"full", "cached:half", "cached:every"}}};
  spec["cases"] = {
      {{"name", "REPLACE: your prompt, as token ids"}, {"token_ids", ids_of(12, vocab)}},
      {{"name", "REPLACE: another one, longer"}, {"token_ids", ids_of(40, vocab)}}};
  spec["parameters"] = Json::object();
  spec["criteria"] = parity_criteria();
  spec["also_record"] = kAlso;
  spec["must_catch"] = {"swap_k_v_proj", "rope_interleaved", "decode_position_plus_one"};
}

void cached_parity(Json& spec, const fs::path&, std::int64_t vocab) {
  spec["subject"] = {{"engine", "octlm"},
                     {"dtype", "float32"},
                     {"devices", {"cpu"}},
                     {"paths", {"cached:half", "cached:every", "chunked:7"}}};
  spec["cases"] = {{{"name", "2 tokens"}, {"length", 2}},
                   {{"name", "7 tokens"}, {"length", 7}},
                   {{"name", "40 tokens"}, {"length", 40}}};
  spec["parameters"] = {{"token_ids", ids_of(40, vocab)}};
  spec["criteria"] = parity_criteria();
  spec["also_record"] = kAlso;
  spec["must_catch"] = {"decode_position_plus_one", "stale_kv_slot"};
}

void checkpoint_load(Json& spec, const fs::path& folder, std::int64_t) {
  const auto checkpoint = model::Checkpoint::open(folder);
  spec["subject"] = {{"engine", "octlm"}, {"devices", {"cpu"}}};
  spec["cases"] = {{{"name", "weights"}}};
  spec["parameters"] = Json::object();
  spec["criteria"] = {{{"metric", "stored_tensors@1"}, {"equals", checkpoint.stored().size()}},
                      {{"metric", "stored_elements@1"}, {"equals", checkpoint.stored_elements()}},
                      {{"metric", "parameters@1"}, {"equals", checkpoint.unique_parameters()}},
                      {{"metric", "files_match@1"}, {"equals", true}}};
  spec["also_record"] = Json::array();
  spec["must_catch"] = Json::array();
}

void tokenizer_parity(Json& spec, const fs::path&, std::int64_t) {
  spec["reference"] = {{"engine", "transformers"}};
  spec["subject"] = {{"engine", "octlm"}};
  spec["cases"] = {
      {{"name", "REPLACE: a text"}, {"mode", "literal"}, {"text", "REPLACE: your text, é 中 42"}},
      {{"name", "10,000 random texts"},
       {"mode", "literal"},
       {"texts", {{"set", "random_texts@1"}, {"count", 10000}, {"seed", 1}}}}};
  spec["parameters"] = Json::object();
  spec["criteria"] = {all_equal("ids_equal@1", "one other id is another prompt"),
                      all_equal("text_equal@1", "the same ids have one text"),
                      {{"metric", "control_ids_from_text@1"}, {"equals", 0}}};
  spec["also_record"] = Json::array();
  spec["must_catch"] = Json::array();
}

void template_parity(Json& spec, const fs::path&, std::int64_t) {
  spec["reference"] = {{"engine", "transformers"}};
  spec["subject"] = {{"engine", "octlm"}};
  spec["cases"] = {{{"name", "REPLACE: your chat, a file beside the spec or one folder above"},
                    {"chat", "prompts/one-question.json"}}};
  spec["parameters"] = Json::object();
  spec["criteria"] = {all_equal("text_equal@1", "a chat has one rendering"),
                      all_equal("ids_equal@1", "one other id is another prompt"),
                      {{"metric", "control_ids_from_text@1"}, {"equals", 0}}};
  spec["also_record"] = Json::array();
  spec["must_catch"] = Json::array();
}

void noise_floor(Json& spec, const fs::path&, std::int64_t vocab) {
  spec["reference"] = kTransformers;
  spec["cases"] = {
      {{"name", "REPLACE: your prompt, as token ids"}, {"token_ids", ids_of(40, vocab)}}};
  const auto variant = [](const char* name, const char* attention, const char* path, int threads) {
    return Json{{"name", name}, {"attention", attention}, {"path", path}, {"threads", threads}};
  };
  spec["parameters"] = {{"devices", {"cpu"}},
                        {"variants",
                         {variant("sdpa", "sdpa", "full", 0),
                          variant("eager, token by token", "eager", "cached:every", 0),
                          variant("eager, one thread", "eager", "full", 1)}}};
  spec["criteria"] = parity_criteria();
  spec["also_record"] = kAlso;
  spec["must_catch"] = Json::array();
}

bool is_weights(const std::string& file) {
  return file == "config.json" || file.ends_with(".safetensors") ||
         file.ends_with(".safetensors.index.json");
}

bool is_text(const std::string& file) {
  return file == "tokenizer.json" || file == "tokenizer_config.json" ||
         file == "chat_template.jinja";
}

}  // namespace

const std::map<std::string, StartingPoint>& starting_points() {
  static const std::map<std::string, StartingPoint> points = {
      {"logit_parity", {"float32 logits match Transformers", is_weights, logit_parity}},
      {"cached_parity", {"every split of a prompt gives one function", is_weights, cached_parity}},
      {"checkpoint_load", {"the checkpoint loads completely", is_weights, checkpoint_load}},
      {"noise_floor", {"the noise floor of the reference in float32", is_weights, noise_floor}},
      {"tokenizer_parity", {"the tokenizer matches Hugging Face", is_text, tokenizer_parity}},
      {"template_parity", {"the chat template matches Transformers", is_text, template_parity}},
  };
  return points;
}

}  // namespace octlm::experiments
