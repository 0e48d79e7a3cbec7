// out[r, :] = table[ids[r], :] in the activation dtype: exact where that holds the stored values,
// as float32 and float64 hold all of them; else rounded once.
//   table [vocab, hidden]  float32, float16 or bfloat16
//   ids   [rows]           each in [0, vocab)
//   out   [rows, hidden]   activation dtype; must not overlap table
// Error, float32: none (model.ops.embedding compares for equality). Throws std::invalid_argument.
//
// Transformers: nn.Embedding, Qwen3Model.embed_tokens.
#pragma once

#include <cstdint>
#include <span>

#include "model/ops/backend.h"

namespace octlm::model::ops {

void embedding(Backend& backend, const Weight& table, std::span<const std::int32_t> ids,
               TensorView out);

}  // namespace octlm::model::ops
