#include "model/ops/add.h"

#include "model/ops/check.h"

namespace octlm::model::ops {

void add(Backend& backend, ConstTensorView x, TensorView accumulator) {
  const Check check("add", backend);
  check.shape("x", x, accumulator.shape);
  check.activation("x", x);
  check.activation("accumulator", accumulator);
  check.same_or_apart("x", x, "accumulator", accumulator);
  backend.add(x, accumulator);
}

}  // namespace octlm::model::ops
