// LlamaForCausalLM: Llama 2 and 3, TinyLlama, SmolLM2. Fields and their meaning follow
// Transformers 4.57, models/llama/configuration_llama.py and modeling_llama.py.
#include "model/architectures/list.h"
#include "model/config_fields.h"

namespace octlm::model {
namespace {

std::vector<FieldRule> llama_fields() {
  using enum FieldRule::Kind;
  return {
      {"mlp_bias", kOnly, "biases in the MLP are not implemented", "[false, null]"},
      // The layer ignores a window, but Transformers' cache (DynamicCache) would cut keys at it.
      {"sliding_window", kOnly, "a sliding window in a Llama is not implemented", "[null]"},
      {"use_sliding_window", kOnly, "a sliding window in a Llama is not implemented",
       "[false, null]"},
      {"layer_types", kHonoured, "", ""},  // read by DynamicCache, not by the layers
      {"max_window_layers", kWithoutEffect, "no sliding window", ""},
      {"is_llama_config", kWithoutEffect, "written by the trainer, read by nothing", ""},
      {"rope_interleaved", kOnly, "RoPE rotates the halves (i, i + head_dim / 2)", "[false, null]"},
  };
}

void read_llama(const ConfigFields& fields, Config& config) {
  // As LlamaConfig does: absent or null means one KV head per query head, ...
  config.num_key_value_heads =
      fields.has("num_key_value_heads")
          ? fields.integer("num_key_value_heads", 1, config.num_attention_heads)
          : config.num_attention_heads;
  // ... and hidden_size / num_attention_heads.
  if (fields.has("head_dim")) {
    config.head_dim = fields.integer("head_dim", 2, kMaxHeadDim);
  } else {
    config.head_dim = derived_head_dim(fields, config);
  }
  check_full_attention_layers(fields, config);
}

std::vector<LayerWeight> llama_layer(const Config& config) {
  const std::int64_t hidden = config.hidden_size;
  const std::int64_t attention = config.attention_width();
  const std::int64_t key_value = config.key_value_width();
  const std::int64_t intermediate = config.intermediate_size;
  return {
      {Module::kInputLayernorm, {hidden}},         {Module::kQProj, {attention, hidden}},
      {Module::kKProj, {key_value, hidden}},       {Module::kVProj, {key_value, hidden}},
      {Module::kOProj, {hidden, attention}},       {Module::kPostAttentionLayernorm, {hidden}},
      {Module::kGateProj, {intermediate, hidden}}, {Module::kUpProj, {intermediate, hidden}},
      {Module::kDownProj, {hidden, intermediate}},
  };
}

}  // namespace

const Architecture& llama() {
  static const Architecture kLlama{.name = "LlamaForCausalLM",
                                   .base_name = "LlamaModel",
                                   .model_type = "llama",
                                   .qk_norm = false,
                                   .fields = llama_fields,
                                   .read = read_llama,
                                   .layer_weights = llama_layer};
  return kLlama;
}

}  // namespace octlm::model
