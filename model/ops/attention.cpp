#include "model/ops/attention.h"

#include <utility>

#include "model/ops/check.h"

namespace octlm::model::ops {

void attention(Backend& backend, ConstTensorView q, ConstTensorView k_cache,
               ConstTensorView v_cache, const AttentionArguments& arguments, TensorView out) {
  const Check check("attention", backend);
  check.rank("q", q, 3, "[seq, heads, head_dim]");
  check.rank("k_cache", k_cache, 3, "[kv_heads, capacity, head_dim]");
  const std::int64_t seq = q.shape[0], heads = q.shape[1], head_dim = q.shape[2];
  const std::int64_t kv_heads = k_cache.shape[0], capacity = k_cache.shape[1];
  check.shape("k_cache", k_cache, {kv_heads, capacity, head_dim});
  check.shape("v_cache", v_cache, k_cache.shape);
  check.shape("out", out, q.shape);
  if (kv_heads < 1 || heads % kv_heads != 0) {
    check.fail(std::to_string(heads) + " query heads cannot share " + std::to_string(kv_heads) +
               " KV heads");
  }
  check.activation("q", q);
  check.activation("out", out);
  check.cache("k_cache", k_cache);
  check.cache("v_cache", v_cache);
  if (k_cache.dtype != v_cache.dtype) check.fail("k_cache and v_cache are of two dtypes");
  for (const auto& [name, tensor] :
       {std::pair{"q", q}, std::pair{"k_cache", k_cache}, std::pair{"v_cache", v_cache}}) {
    check.apart("out", out, name, tensor);
  }
  const std::int64_t first_position = arguments.first_position;
  if (!(first_position >= 0 && seq <= capacity && first_position <= capacity - seq)) {
    check.fail("positions " + std::to_string(first_position) + " to " +
               std::to_string(first_position + seq) + " are not in a cache of " +
               std::to_string(capacity));
  }
  backend.attention(q, k_cache, v_cache, arguments, out);
}

}  // namespace octlm::model::ops
