#include "verify/metrics/metrics_kernels.h"

namespace octlm::verify {

namespace generic {
extern const MetricKernels kernels;
}
#if defined(__x86_64__)
namespace avx2 {
extern const MetricKernels kernels;
}
namespace avx512 {
extern const MetricKernels kernels;
}
#endif

const std::vector<const MetricKernels*>& metric_kernels() {
  static const std::vector<const MetricKernels*> usable = [] {
    std::vector<const MetricKernels*> list;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl")) {
      list.push_back(&avx512::kernels);
    }
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
      list.push_back(&avx2::kernels);
    }
#endif
    list.push_back(&generic::kernels);
    return list;
  }();
  return usable;
}

}  // namespace octlm::verify
