// AVX2 and FMA.
#include <immintrin.h>

#include "verify/metrics/metrics_kernels.h"

namespace octlm::verify {
namespace avx2 {
namespace {

constexpr int kLanes = 4;
typedef double Doubles __attribute__((vector_size(8 * kLanes)));
typedef float Floats __attribute__((vector_size(4 * kLanes)));

inline Doubles fused(Doubles a, Doubles b, Doubles c) { return _mm256_fmadd_pd(a, b, c); }
inline Doubles larger(Doubles a, Doubles b) { return _mm256_max_pd(a, b); }
// The entries of a table of sixteen that the last four bits name.
template <class Index>
inline Doubles of_table(const double* table, Index index) {
  return _mm256_i64gather_pd(table, (__m256i)(index & 15), 8);
}
inline Doubles widen(Floats values) { return _mm256_cvtps_pd(values); }

#include "verify/metrics/metrics_kernels.inc"

}  // namespace

extern const MetricKernels kernels;
const MetricKernels kernels = {"avx2", sum_errors, sum_exponentials};

}  // namespace avx2
}  // namespace octlm::verify
