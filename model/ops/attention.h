// Causal attention of seq queries, at absolute positions first_position + s, over the cached keys:
//   p[s, h, j]   = softmax_j(scale * q[s, h, :] . k_cache[g, j, :])   for j <= first_position + s
//   out[s, h, :] = sum_j p[s, h, j] * v_cache[g, j, :]                g = h / (heads / kv_heads)
// The mask is anchored at the bottom right: two queries over five keys see four and five
// (pytorch/pytorch#108108). Neighbouring query heads share a KV head (onnx/onnx#7274). What a query
// may not see does not reach it, not even as NaN.
//   q                [seq, heads, head_dim]          activation dtype
//   k_cache, v_cache [kv_heads, capacity, head_dim]  activation dtype; positions below
//                                                    first_position + seq are stored, the rest
//                                                    unread
//   out              [seq, heads, head_dim]          activation dtype; must not overlap an input
// Scores, softmax (maximum subtracted) and sums in float32 (float64 in the definition). Error,
// float32 (model.ops.attention), with e = (8 + sqrt(head_dim)) scale max_j sum_d |q k[j]|:
// |error| <= 2 (e + 8 + sqrt(keys)) 2^-24 max_j |v[j, d]|. Throws std::invalid_argument.
//
// Vaswani et al. 2017, arXiv:1706.03762, eq. 1. Transformers 4.57: modeling_qwen3.py,
// eager_attention_forward.
#pragma once

#include <cstdint>

#include "model/ops/backend.h"

namespace octlm::model::ops {

void attention(Backend& backend, ConstTensorView q, ConstTensorView k_cache,
               ConstTensorView v_cache, std::int64_t first_position, double scale, TensorView out);

}  // namespace octlm::model::ops
