// AVX-512 F, DQ and VL.
#include <immintrin.h>

#include "verify/metrics/metrics_kernels.h"

namespace octlm::verify {
namespace avx512 {
namespace {

constexpr int kLanes = 8;
typedef double Doubles __attribute__((vector_size(8 * kLanes)));
typedef float Floats __attribute__((vector_size(4 * kLanes)));

inline Doubles fused(Doubles a, Doubles b, Doubles c) { return _mm512_fmadd_pd(a, b, c); }
inline Doubles larger(Doubles a, Doubles b) { return _mm512_max_pd(a, b); }
// The entries of a table of sixteen that the last four bits name.
template <class Index>
inline Doubles of_table(const double* table, Index index) {
  return _mm512_permutex2var_pd(_mm512_load_pd(table), (__m512i)index, _mm512_load_pd(table + 8));
}
inline Doubles widen(Floats values) { return _mm512_cvtps_pd(values); }

#include "verify/metrics/metrics_kernels.inc"

}  // namespace

extern const MetricKernels kernels;
const MetricKernels kernels = {"avx512", sum_errors, sum_exponentials};

}  // namespace avx512
}  // namespace octlm::verify
