// Rotates each pair (a, b) of a head by the angle of its position p = first_position + s, in place:
//   a' = a cos[p, i] - b sin[p, i]
//   b' = b cos[p, i] + a sin[p, i]
// Pairing kHalf: (a, b) = (x[s, h, i], x[s, h, i + head_dim / 2]), as Hugging Face's weights are
// stored. kInterleaved: (x[s, h, 2 i], x[s, h, 2 i + 1]), the classic fault
// (jzhang38/TinyLlama#24).
//   x      [seq, heads, head_dim]  activation dtype, head_dim even
//   table  cos, sin [positions, head_dim / 2]; made from float32 values (model/rope_table.h), which
//          the backend rounds to the activation dtype as Transformers does: exact in float32 and
//          float64
// Two products and one sum, each rounded to the activation dtype, as apply_rotary_pos_emb rounds
// them. Error, float32: |error| <= 2^-23 (|a| + |b|) (model.ops.rope). Throws
// std::invalid_argument.
//
// Su et al. 2021, arXiv:2104.09864, eq. 34. Transformers 4.57: modeling_qwen3.py,
// apply_rotary_pos_emb.
#pragma once

#include "model/ops/backend.h"

namespace octlm::model::ops {

void rope(Backend& backend, TensorView x, const ResidentRopeTable& table,
          const RopeArguments& arguments);

}  // namespace octlm::model::ops
