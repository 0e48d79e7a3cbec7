// cache[h, first_position + s, :] = x[s, h, :]; every other position stays as it is.
//   x     [seq, kv_heads, head_dim]       activation dtype
//   cache [kv_heads, capacity, head_dim]  activation dtype, or another that the backend takes
//                                         (Backend::takes_cache); must not overlap x
// One rounding to the cache's dtype: none where it is the activations'. Throws
// std::invalid_argument, before anything is written, when the positions do not lie in [0,
// capacity).
//
// Transformers: DynamicCache.update, which concatenates along the sequence.
#pragma once

#include <cstdint>

#include "model/ops/backend.h"

namespace octlm::model::ops {

void kv_store(Backend& backend, ConstTensorView x, std::int64_t first_position, TensorView cache);

}  // namespace octlm::model::ops
