#include <algorithm>

#include "model/cpu/vectorised/vectorised.h"

namespace octlm::model::cpu {

void Vectorised::kv_store(ConstTensorView x, std::int64_t first_position, TensorView cache) {
  const std::int64_t kv_heads = x.shape[1], head_dim = x.shape[2], capacity = cache.shape[1];
  for_rows(x.shape[0], kv_heads * head_dim, [&](std::int64_t first, std::int64_t count) {
    for (std::int64_t s = first; s < first + count; ++s) {
      for (std::int64_t h = 0; h < kv_heads; ++h) {
        std::copy_n(x.as<float>() + offset(s, kv_heads * head_dim, h * head_dim), head_dim,
                    cache.as<float>() + offset(offset(h, capacity, first_position + s), head_dim));
      }
    }
  });
}

}  // namespace octlm::model::cpu
