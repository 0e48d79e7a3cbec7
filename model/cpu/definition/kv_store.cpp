#include "model/cpu/definition/definition.h"

namespace octlm::model::cpu {

void Definition::kv_store(ConstTensorView x, std::int64_t first_position, TensorView cache) {
  const std::int64_t kv_heads = x.shape[1], head_dim = x.shape[2], capacity = cache.shape[1];
  for (std::int64_t s = 0; s < x.shape[0]; ++s) {
    for (std::int64_t h = 0; h < kv_heads; ++h) {
      const double* from = x.as<double>() + (s * kv_heads + h) * head_dim;
      const std::int64_t to = (h * capacity + first_position + s) * head_dim;
      for (std::int64_t d = 0; d < head_dim; ++d) store_value(cache, to + d, from[d]);
    }
  }
}

}  // namespace octlm::model::cpu
