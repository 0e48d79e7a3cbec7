// Causal attention of seq queries, at absolute positions first_position + s, over the cached keys:
//   p[s, h, j]   = softmax_j(scale * q[s, h, :] . k_cache[g, j, :]) over keys that s sees
//   out[s, h, :] = sum_j p[s, h, j] * v_cache[g, j, :]
// Query s sees keys j <= first_position + s + mask_offset (offset 0: the mask is anchored at the
// bottom right, so that two queries over five keys see four and five, pytorch/pytorch#108108), but
// always key 0 and never one that is not stored; without `causal` it sees all that are stored. The
// KV head is g = h / (heads / kv_heads) for kRepeat, so that neighbouring query heads share one
// (onnx/onnx#7274), and h % kv_heads for kTile. What a query may not see does not reach it, not
// even as NaN. The usual arguments (ops/arguments.h) run the fast kernels; others may be slow.
//   q                [seq, heads, head_dim]          activation dtype
//   k_cache, v_cache [kv_heads, capacity, head_dim]  the cache's dtype; positions below
//                                                    first_position + seq are stored, the rest
//                                                    unread
//   out              [seq, heads, head_dim]          activation dtype; must not overlap an input
// Scores, softmax (maximum subtracted) and sums in float32 (float64 in the definition); one
// rounding to the activation dtype, of the result. Error, float32 (model.ops.attention), with e =
// (8 + sqrt(head_dim)) scale max_j sum_d |q k[j]|: |error| <= 2 (e + 8 + sqrt(keys)) 2^-24 max_j
// |v[j, d]|. Throws std::invalid_argument.
//
// Vaswani et al. 2017, arXiv:1706.03762, eq. 1. Transformers 4.57: modeling_qwen3.py,
// eager_attention_forward.
#pragma once

#include "model/ops/backend.h"

namespace octlm::model::ops {

void attention(Backend& backend, ConstTensorView q, ConstTensorView k_cache,
               ConstTensorView v_cache, const AttentionArguments& arguments, TensorView out);

}  // namespace octlm::model::ops
