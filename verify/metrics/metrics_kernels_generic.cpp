// For any processor. Without a fused instruction the C library computes it: slow, and the same
// bits.
#include "verify/metrics/metrics_kernels.h"

namespace octlm::verify {
namespace generic {
namespace {

constexpr int kLanes = 2;
typedef double Doubles __attribute__((vector_size(8 * kLanes)));
typedef float Floats __attribute__((vector_size(4 * kLanes)));

inline Doubles fused(Doubles a, Doubles b, Doubles c) {
  for (int lane = 0; lane < kLanes; ++lane) c[lane] = __builtin_fma(a[lane], b[lane], c[lane]);
  return c;
}
inline Doubles larger(Doubles a, Doubles b) { return a > b ? a : b; }
// The entries of a table of sixteen that the last four bits name.
template <class Index>
inline Doubles of_table(const double* table, Index index) {
  Doubles values;
  for (int lane = 0; lane < kLanes; ++lane) values[lane] = table[index[lane] & 15];
  return values;
}
inline Doubles widen(Floats values) { return __builtin_convertvector(values, Doubles); }

#include "verify/metrics/metrics_kernels.inc"

}  // namespace

extern const MetricKernels kernels;
const MetricKernels kernels = {"generic", sum_errors, sum_exponentials};

}  // namespace generic
}  // namespace octlm::verify
