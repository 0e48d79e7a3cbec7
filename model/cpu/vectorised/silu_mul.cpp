#include "model/cpu/vectorised/vectorised.h"

namespace octlm::model::cpu {

void Vectorised::silu_mul(ConstTensorView gate, ConstTensorView up, TensorView out) {
  for_rows(gate.shape.elements(), 1, [&](std::int64_t first, std::int64_t count) {
    kernels_.silu_mul(gate.as<float>() + first, up.as<float>() + first, count,
                      out.as<float>() + first);
  });
}

}  // namespace octlm::model::cpu
