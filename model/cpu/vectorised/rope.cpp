#include "model/cpu/vectorised/vectorised.h"

namespace octlm::model::cpu {
namespace {

// Neighbours rotated together, for one position; each product is rounded, as in the kernel.
void rope_interleaved(float* x, const float* cos, const float* sin, std::int64_t heads,
                      std::int64_t head_dim) {
  for (std::int64_t h = 0; h < heads; ++h, x += head_dim) {
    for (std::int64_t i = 0; i < head_dim / 2; ++i) {
      const float a = x[2 * i], b = x[2 * i + 1];
      x[2 * i] = a * cos[i] - b * sin[i];
      x[2 * i + 1] = b * cos[i] + a * sin[i];
    }
  }
}

}  // namespace

void Vectorised::rope(TensorView x, const ResidentRopeTable& table,
                      const ops::RopeArguments& arguments) {
  const std::int64_t heads = x.shape[1], head_dim = x.shape[2];
  const auto rotate =
      arguments.pairing == ops::RopePairing::kHalf ? kernels_.rope : rope_interleaved;
  for_rows(x.shape[0], heads * head_dim, [&](std::int64_t first, std::int64_t count) {
    for (std::int64_t s = first; s < first + count; ++s) {
      const std::int64_t angles = offset(arguments.first_position + s, head_dim / 2);
      rotate(x.as<float>() + offset(s, heads * head_dim), table.cos().as<float>() + angles,
             table.sin().as<float>() + angles, heads, head_dim);
    }
  });
}

}  // namespace octlm::model::cpu
