#include <cmath>

#include "model/cpu/definition/definition.h"

namespace octlm::model::cpu {

// gate / (1 + e^-gate) * up
void Definition::silu_mul(ConstTensorView gate, ConstTensorView up, TensorView out) {
  for_rows(gate.shape.elements(), 1, [&](std::int64_t first, std::int64_t count) {
    for (std::int64_t i = first; i < first + count; ++i) {
      const double g = gate.as<double>()[i];
      out.as<double>()[i] = g / (1.0 + std::exp(-g)) * up.as<double>()[i];
    }
  });
}

}  // namespace octlm::model::cpu
