#include <algorithm>

#include "model/cpu/definition/definition.h"

namespace octlm::model::cpu {
namespace {

// Output o of `Rows` rows from r on: independent sums side by side, so that the CPU can overlap
// them.
template <int Rows>
void dot_products(const ConstTensorView& x, const double* w, std::int64_t r, std::int64_t in,
                  std::int64_t o, TensorView& out) {
  const double* rows = x.as<double>() + r * in;
  double sum[Rows] = {};
  for (std::int64_t k = 0; k < in; ++k) {
    for (int i = 0; i < Rows; ++i) sum[i] += rows[i * in + k] * w[k];
  }
  for (int i = 0; i < Rows; ++i) out.as<double>()[(r + i) * out.shape[1] + o] = sum[i];
}

}  // namespace

// y[r, o] = sum_k x[r, k] weight[o, k]
void Definition::linear(ConstTensorView x, const Weight& weight, TensorView out) {
  const std::int64_t rows = x.shape[0], outputs = weight.shape()[0], in = weight.shape()[1];
  reserve_doubles(in);
  constexpr std::int64_t kOutputsPerTask = 8;
  pool().run(divide_up(outputs, kOutputsPerTask), [&](std::int64_t task, int thread) {
    double* w = doubles_of(thread, in);
    const std::int64_t last = std::min(outputs, (task + 1) * kOutputsPerTask);
    for (std::int64_t o = task * kOutputsPerTask; o < last; ++o) {
      for (std::int64_t k = 0; k < in; ++k) w[k] = stored_value(weight.values(), o * in + k);
      std::int64_t r = 0;
      for (; r + 8 <= rows; r += 8) dot_products<8>(x, w, r, in, o, out);
      for (; r < rows; ++r) dot_products<1>(x, w, r, in, o, out);
    }
  });
}

}  // namespace octlm::model::cpu
