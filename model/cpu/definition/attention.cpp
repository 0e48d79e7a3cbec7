#include <algorithm>
#include <cmath>
#include <limits>

#include "model/cpu/definition/definition.h"

namespace octlm::model::cpu {
namespace {

// One query, over its first `keys` keys, of a cache that holds T; p has room for them.
template <class T>
void attend(const double* query, const T* k, const T* v, std::int64_t keys, std::int64_t head_dim,
            double scale, double* p, double* result) {
  double maximum = -std::numeric_limits<double>::infinity();
  for (std::int64_t j = 0; j < keys; ++j) {
    double dot = 0.0;
    for (std::int64_t d = 0; d < head_dim; ++d) {
      dot += query[d] * static_cast<double>(k[j * head_dim + d]);
    }
    p[j] = dot * scale;
    maximum = std::max(maximum, p[j]);
  }
  double sum = 0.0;
  for (std::int64_t j = 0; j < keys; ++j) {
    p[j] = std::exp(p[j] - maximum);
    sum += p[j];
  }
  std::fill_n(result, head_dim, 0.0);
  for (std::int64_t j = 0; j < keys; ++j) {
    for (std::int64_t d = 0; d < head_dim; ++d) {
      result[d] += p[j] * static_cast<double>(v[j * head_dim + d]);
    }
  }
  for (std::int64_t d = 0; d < head_dim; ++d) result[d] /= sum;
}

}  // namespace

// softmax_j(scale q . k_j) v_j over the keys that a query sees
void Definition::attention(ConstTensorView q, ConstTensorView k_cache, ConstTensorView v_cache,
                           const ops::AttentionArguments& arguments, TensorView out) {
  const std::int64_t seq = q.shape[0], heads = q.shape[1], head_dim = q.shape[2];
  const std::int64_t kv_heads = k_cache.shape[0], capacity = k_cache.shape[1];
  reserve_doubles(arguments.first_position + seq);
  pool().run(seq * heads, [&](std::int64_t task, int thread) {
    const std::int64_t keys = arguments.keys_seen(task / heads, seq);
    const std::int64_t first =
        arguments.kv_head(task % heads, heads, kv_heads) * capacity * head_dim;
    const auto attend_as = [&]<class T>(const T* k, const T* v) {
      attend(q.as<double>() + task * head_dim, k + first, v + first, keys, head_dim,
             arguments.scale, doubles_of(thread, keys), out.as<double>() + task * head_dim);
    };
    if (k_cache.dtype == DType::kFloat64) {
      attend_as(k_cache.as<double>(), v_cache.as<double>());
    } else {
      attend_as(k_cache.as<float>(), v_cache.as<float>());
    }
  });
}

}  // namespace octlm::model::cpu
