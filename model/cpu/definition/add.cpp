#include "model/cpu/definition/definition.h"

namespace octlm::model::cpu {

void Definition::add(ConstTensorView x, TensorView accumulator) {
  for_rows(x.shape.elements(), 1, [&](std::int64_t first, std::int64_t count) {
    for (std::int64_t i = first; i < first + count; ++i) {
      accumulator.as<double>()[i] += x.as<double>()[i];
    }
  });
}

}  // namespace octlm::model::cpu
