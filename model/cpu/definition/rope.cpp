#include "model/cpu/definition/definition.h"

namespace octlm::model::cpu {

// (a, b) -> (a cos - b sin, b cos + a sin) for a = x[i], b = x[i + head_dim / 2], or neighbours
void Definition::rope(TensorView x, const ResidentRopeTable& table,
                      const ops::RopeArguments& arguments) {
  const std::int64_t heads = x.shape[1], half = x.shape[2] / 2;
  const bool neighbours = arguments.pairing == ops::RopePairing::kInterleaved;
  const std::int64_t step = neighbours ? 2 : 1, apart = neighbours ? 1 : half;
  pool().run(x.shape[0], [&](std::int64_t s, int) {
    const std::int64_t angles = (arguments.first_position + s) * half;
    for (std::int64_t h = 0; h < heads; ++h) {
      double* head = x.as<double>() + (s * heads + h) * 2 * half;
      for (std::int64_t i = 0; i < half; ++i) {
        const double c = stored_value(table.cos(), angles + i);
        const double n = stored_value(table.sin(), angles + i);
        const double a = head[i * step], b = head[i * step + apart];
        head[i * step] = a * c - b * n;
        head[i * step + apart] = b * c + a * n;
      }
    }
  });
}

}  // namespace octlm::model::cpu
