// The names that a checkpoint's files give to tensors, against those that its architecture wants:
// which stored tensors are no parameters, whether the names are a base model's, and, where they do
// not fit, what is likely to be the cause. Used inside model/ only.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "model/config.h"
#include "model/tensor.h"

namespace octlm::model {

// The architecture's names and shapes.
using WantedTensors = std::map<std::string, Shape>;

// A buffer that older versions saved beside the parameters: RoPE's inverse frequencies and tables
// (jzhang38/TinyLlama#127, huggingface/transformers#35255), causal masks. Transformers computes
// them afresh and does not read the stored ones.
bool is_stored_buffer(std::string_view name, const Shape& shape);

// Saved from the base model (Qwen3Model: Qwen3-Embedding is one): no name has the prefix "model.".
// Transformers 4.57.6, _load_pretrained_model, then puts the prefix before every name; where
// lm_head.weight is among them it refuses (vllm-project/vllm#19250).
bool has_base_names(const std::vector<std::string>& names, const WantedTensors& wanted);

// What is the matter when names do not fit, or "": a prefix that all have or lack, the layout of an
// adapter or of quantised weights, another number of layers. Ends without punctuation.
std::string likely_cause(const std::vector<std::string>& names, const WantedTensors& wanted,
                         const Config& config);

}  // namespace octlm::model
