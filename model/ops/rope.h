// Rotates each pair (a, b) = (x[s, h, i], x[s, h, i + head_dim / 2]) by the angle of position s:
//   a' = a cos[s, i] - b sin[s, i]
//   b' = b cos[s, i] + a sin[s, i]
// in place. The pair is half a head apart, as Hugging Face's weights are stored; pairing neighbours
// instead is the classic fault (jzhang38/TinyLlama#24).
//   x        [seq, heads, head_dim]  activation dtype, head_dim even
//   cos, sin [seq, head_dim / 2]     float32, for these positions (model/rope_table.h), widened
//                                    exactly; must not overlap x
// Two products and one sum, each rounded, as apply_rotary_pos_emb rounds them. Error, float32:
// |error| <= 2^-23 (|a| + |b|) (model.ops.rope). Throws std::invalid_argument.
//
// Su et al. 2021, arXiv:2104.09864, eq. 34. Transformers 4.57: modeling_qwen3.py,
// apply_rotary_pos_emb.
#pragma once

#include "model/ops/backend.h"

namespace octlm::model::ops {

void rope(Backend& backend, TensorView x, ConstTensorView cos, ConstTensorView sin);

}  // namespace octlm::model::ops
