// The inner loops of metrics.h, compiled once per instruction set (metrics_kernels_avx512.cpp, ...)
// from one source (metrics_kernels.inc) and chosen at run time. Every one of them gives the same
// bits: the sums have sixteen lanes on any width of vector, and what is fused is written as fused.
#pragma once

#include <cstdint>
#include <vector>

namespace octlm::verify {

inline constexpr std::int64_t kTileColumns = 256;    // one maximum is kept of each
inline constexpr std::int64_t kBlockColumns = 2048;  // 2 x 8 KiB, and the next: a first-level cache
inline constexpr std::int64_t kBlockTiles = kBlockColumns / kTileColumns;

// s, r: one block of at most kBlockColumns columns. When some value is not finite, `abs` is not
// either (finite values cannot make it so), and nothing else means anything.
struct ErrorSums {
  double max = 0;                       // max |s - r|
  double abs = 0;                       // sum |s - r|
  double squares = 0;                   // sum (s - r)^2
  double reference2 = 0;                // sum r^2
  std::uint32_t ulps = 0;               // max distance in float32 ulps
  float subject_max[kBlockTiles] = {};  // of each tile
  float reference_max[kBlockTiles] = {};
  float reference_min = 0;  // of the block
};

// With S, R the block's largest s and r.
struct ExponentialSums {
  double subject = 0;    // sum exp(s - S)
  double reference = 0;  // sum exp(r - R)
  double weighted = 0;   // sum exp(r - R) (r - s)
};

struct MetricKernels {
  const char* instruction_set;  // "avx512"
  // REQUIRES: 0 < columns <= kBlockColumns.
  void (*sum_errors)(const float* subject, const float* reference, std::int64_t columns,
                     ErrorSums* sums);
  // exp as a polynomial in double: relative error below 1e-14 where the result is above 1e-20, and
  // below 1e-12 down to exp(-700), where it stays. REQUIRES: finite values, none above its maximum.
  void (*sum_exponentials)(const float* subject, const float* reference, std::int64_t columns,
                           double subject_max, double reference_max, ExponentialSums* sums);
};

// Those this CPU can execute, best first; "generic" is always there, and last.
const std::vector<const MetricKernels*>& metric_kernels();

}  // namespace octlm::verify
