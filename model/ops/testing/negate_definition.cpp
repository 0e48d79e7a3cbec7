#include "model/ops/testing/negate.h"
#include "model/stored_values.h"

namespace octlm::model::ops::testing {

void negate_on(cpu::Definition& backend, ConstTensorView x, TensorView out) {
  backend.pool().run(x.shape.elements(),
                     [&](std::int64_t i, int) { store_value(out, i, -stored_value(x, i)); });
}

}  // namespace octlm::model::ops::testing
