// Qwen3ForCausalLM, the dense Qwen3 models. Fields and their meaning follow Transformers 4.57,
// models/qwen3/configuration_qwen3.py and modeling_qwen3.py.
#include "model/architectures/list.h"
#include "model/config_fields.h"

namespace octlm::model {
namespace {

std::vector<FieldRule> qwen3_fields() {
  using enum FieldRule::Kind;
  return {
      {"use_sliding_window", kHonoured, "", ""},
      {"sliding_window", kHonoured, "", ""},
      {"max_window_layers", kHonoured, "", ""},
      {"layer_types", kHonoured, "", ""},
      {"mlp_bias", kOnly, "biases in the MLP are not implemented", "[false, null]"},
      {"rope_interleaved", kOnly, "RoPE rotates the halves (i, i + head_dim / 2)", "[false, null]"},
  };
}

// Qwen3Config: sliding_window counts only when use_sliding_window is true, and then layer i slides
// when layer_types[i] says so, or, without that list, when i >= max_window_layers (default 28). A
// window of a model that does not use it changes nothing (huggingface/transformers#38002); one in
// use is refused.
void refuse_sliding_window(const ConfigFields& fields, const Config& config) {
  bool in_use = fields.has("use_sliding_window") && fields.boolean("use_sliding_window");
  if (fields.present("sliding_window") && !fields.has("sliding_window")) in_use = false;
  if (fields.has("sliding_window")) fields.integer("sliding_window", 0, kMaxPositions);
  std::int64_t full_layers = 28;
  if (fields.present("max_window_layers")) {
    full_layers = fields.integer("max_window_layers", 0, kMaxPositions);
  }
  check_full_attention_layers(fields, config);
  if (!fields.has("layer_types") && in_use && full_layers < config.num_hidden_layers) {
    fields.refuse_field("use_sliding_window",
                        "false: layers " + std::to_string(full_layers) + " to " +
                            std::to_string(config.num_hidden_layers - 1) +
                            " would attend in a sliding window (sliding_window, "
                            "max_window_layers), which is not implemented");
  }
}

void read_qwen3(const ConfigFields& fields, Config& config) {
  refuse_sliding_window(fields, config);
  // Qwen3Config's defaults for absent fields are numbers of one model size (32 KV heads, head_dim
  // 128): required here. Null num_key_value_heads means one KV head per query head there as well.
  fields.value("num_key_value_heads");
  config.num_key_value_heads =
      fields.has("num_key_value_heads")
          ? fields.integer("num_key_value_heads", 1, config.num_attention_heads)
          : config.num_attention_heads;
  fields.value("head_dim");
  config.head_dim = fields.has("head_dim") ? fields.integer("head_dim", 2, kMaxHeadDim)
                                           : derived_head_dim(fields, config);
}

// llama's layer, and a norm over each query and key head.
std::vector<LayerWeight> qwen3_layer(const Config& config) {
  std::vector<LayerWeight> weights = llama().layer_weights(config);
  weights.push_back({Module::kQNorm, {config.head_dim}});
  weights.push_back({Module::kKNorm, {config.head_dim}});
  return weights;
}

}  // namespace

const Architecture& qwen3() {
  static const Architecture kQwen3{.name = "Qwen3ForCausalLM",
                                   .base_name = "Qwen3Model",
                                   .model_type = "qwen3",
                                   .qk_norm = true,
                                   .fields = qwen3_fields,
                                   .read = read_qwen3,
                                   .layer_weights = qwen3_layer};
  return kQwen3;
}

}  // namespace octlm::model
