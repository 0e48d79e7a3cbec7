#include "model/ops/testing/negate.h"

#include "model/ops/check.h"

namespace octlm::model::ops::testing {

void negate(Backend& backend, ConstTensorView x, TensorView out) {
  const Check check("negate", backend);
  check.shape("out", out, x.shape);
  if (x.dtype != out.dtype) check.fail("x and out are of two dtypes");
  check.same_or_apart("out", out, "x", x);
  if (auto* definition = dynamic_cast<cpu::Definition*>(&backend)) {
    return negate_on(*definition, x, out);
  }
  if (auto* vectorised = dynamic_cast<cpu::Vectorised*>(&backend)) {
    return negate_on(*vectorised, x, out);
  }
  check.fail("backend " + backend.name() + " has no such operation");
}

}  // namespace octlm::model::ops::testing
