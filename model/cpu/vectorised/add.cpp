#include "model/cpu/vectorised/vectorised.h"

namespace octlm::model::cpu {

void Vectorised::add(ConstTensorView x, TensorView accumulator) {
  for_rows(x.shape.elements(), 1, [&](std::int64_t first, std::int64_t count) {
    kernels_.add(x.as<float>() + first, count, accumulator.as<float>() + first);
  });
}

}  // namespace octlm::model::cpu
