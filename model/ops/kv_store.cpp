#include "model/ops/kv_store.h"

#include "model/ops/check.h"

namespace octlm::model::ops {

void kv_store(Backend& backend, ConstTensorView x, std::int64_t first_position, TensorView cache) {
  const Check check("kv_store", backend);
  check.rank("x", x, 3, "[seq, kv_heads, head_dim]");
  check.rank("cache", cache, 3, "[kv_heads, capacity, head_dim]");
  const std::int64_t seq = x.shape[0], capacity = cache.shape[1];
  check.shape("cache", cache, {x.shape[1], capacity, x.shape[2]});
  check.activation("x", x);
  check.cache("cache", cache);
  check.apart("cache", cache, "x", x);
  if (!(first_position >= 0 && seq <= capacity && first_position <= capacity - seq)) {
    check.fail(std::to_string(seq) + " positions from " + std::to_string(first_position) +
               " on do not fit a cache of " + std::to_string(capacity));
  }
  backend.kv_store(x, first_position, cache);
}

}  // namespace octlm::model::ops
