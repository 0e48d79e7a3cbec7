#include "model/ops/rms_norm.h"

#include "model/ops/check.h"

namespace octlm::model::ops {

void rms_norm(Backend& backend, ConstTensorView x, ConstTensorView weight, double eps,
              TensorView out) {
  const Check check("rms_norm", backend);
  if (x.shape.rank() < 1) check.fail("x is [], expected [..., hidden]");
  check.shape("weight", weight, {x.shape[x.shape.rank() - 1]});
  check.shape("out", out, x.shape);
  check.activation("x", x);
  check.weight("weight", weight);
  check.activation("out", out);
  check.same_or_apart("out", out, "x", x);
  check.apart("out", out, "weight", weight);
  if (!(eps >= 0.0)) check.fail("eps is " + std::to_string(eps) + ", expected >= 0");
  backend.rms_norm(x, weight, eps, out);
}

}  // namespace octlm::model::ops
