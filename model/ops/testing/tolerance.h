// The one table of tolerances for the operations' tests, by backend and stored dtype, in units of
// rounding; each operation multiplies it by a factor derived from its formula.
//
// unit: the largest relative error of one rounding, 2^-53 in float64 and 2^-24 in float32, where a
// fused multiply-add is one rounding; without FMA a multiply-add rounds twice. Stored weights are
// widened exactly, and activations are never 16 bits, so the stored dtype does not loosen a
// tolerance: were one row larger than its neighbours, that would be a fault admitted.
#pragma once

#include <cmath>
#include <stdexcept>
#include <string>
#include <string_view>

#include "model/tensor.h"

namespace octlm::model::ops::testing {

struct Tolerance {
  std::string_view backend;
  DType stored;
  double unit;
};

inline constexpr Tolerance kTolerances[] = {
    {"definition", DType::kFloat32, 0x1p-53},  {"definition", DType::kFloat16, 0x1p-53},
    {"definition", DType::kBFloat16, 0x1p-53}, {"avx512", DType::kFloat32, 0x1p-24},
    {"avx512", DType::kFloat16, 0x1p-24},      {"avx512", DType::kBFloat16, 0x1p-24},
    {"avx2", DType::kFloat32, 0x1p-24},        {"avx2", DType::kFloat16, 0x1p-24},
    {"avx2", DType::kBFloat16, 0x1p-24},       {"generic", DType::kFloat32, 0x1p-23},
    {"generic", DType::kFloat16, 0x1p-23},     {"generic", DType::kBFloat16, 0x1p-23},
};

inline double unit_of(std::string_view backend, DType stored) {
  for (const Tolerance& row : kTolerances) {
    if (row.backend == backend && row.stored == stored) return row.unit;
  }
  throw std::invalid_argument("no tolerance for backend " + std::string(backend));
}

// Of a sum of n products, relative to the sum of their magnitudes: n roundings of partial sums that
// are no larger than it, of random sign, so sqrt(n) units and not n; 4 for short sums.
inline double sum_factor(double n) { return 4.0 + std::sqrt(n); }

}  // namespace octlm::model::ops::testing
