// config.json, read strictly. Every field is one of three things: honoured (it is a member below),
// known to be without effect on the function (listed by name in config.cpp), or refused by name.
// Nothing is ignored and nothing is defaulted that Transformers does not default the same way.
// Members keep config.json's names.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "model/tensor.h"

namespace octlm::model {

// How RoPE's inverse frequencies are derived from rope_theta.
struct RopeScaling {
  enum class Kind { kDefault, kLlama3 };
  Kind kind = Kind::kDefault;
  // Llama 3's three-band scaling (rope_type "llama3"); unused for kDefault.
  double factor = 1.0;
  double low_freq_factor = 1.0;
  double high_freq_factor = 4.0;
  std::int64_t original_max_position_embeddings = 0;

  friend bool operator==(const RopeScaling&, const RopeScaling&) = default;
};

struct Config {
  std::string architecture;  // "Qwen3ForCausalLM"
  std::string model_type;    // "qwen3"
  std::int64_t hidden_size = 0;
  std::int64_t num_hidden_layers = 0;
  std::int64_t num_attention_heads = 0;
  std::int64_t num_key_value_heads = 0;
  // Explicit, or hidden_size / num_attention_heads where Llama leaves it out.
  std::int64_t head_dim = 0;
  std::int64_t intermediate_size = 0;
  std::int64_t vocab_size = 0;
  std::int64_t max_position_embeddings = 0;
  double rms_norm_eps = 0.0;
  double rope_theta = 0.0;
  RopeScaling rope_scaling;
  bool tie_word_embeddings = false;
  bool qk_norm = false;  // by architecture: Qwen3 normalises each query and key head before RoPE

  // Width of q_proj's output and o_proj's input: num_attention_heads * head_dim. Not hidden_size.
  std::int64_t attention_width() const { return num_attention_heads * head_dim; }
  // Width of k_proj's and v_proj's outputs.
  std::int64_t key_value_width() const { return num_key_value_heads * head_dim; }
  // layers x 2 x KV heads x head_dim x bytes: 114,688 for Qwen3-0.6B in 16 bits.
  std::int64_t cache_bytes_per_token(DType dtype) const;
};

// Reads `folder`/config.json. Throws std::runtime_error that names the file, the field, what was
// found and what is supported.
Config read_config(const std::filesystem::path& folder);

// The same from text; `where` names the source in errors.
Config parse_config(const std::string& json, const std::string& where);

}  // namespace octlm::model
