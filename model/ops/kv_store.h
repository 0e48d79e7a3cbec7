// cache[h, first_position + s, :] = x[s, h, :]; every other position stays as it is.
//   x     [seq, kv_heads, head_dim]       activation dtype
//   cache [kv_heads, capacity, head_dim]  activation dtype; must not overlap x
// Error: none. Throws std::invalid_argument, before anything is written, when the positions do not
// lie in [0, capacity).
//
// Transformers: DynamicCache.update, which concatenates along the sequence.
#pragma once

#include <cstdint>

#include "model/ops/backend.h"

namespace octlm::model::ops {

void kv_store(Backend& backend, ConstTensorView x, std::int64_t first_position, TensorView cache);

}  // namespace octlm::model::ops
