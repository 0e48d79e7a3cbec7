#include "model/ops/rms_norm.h"

#include "model/ops/check.h"

namespace octlm::model::ops {

void rms_norm(Backend& backend, ConstTensorView x, const Weight& weight,
              const RmsNormArguments& arguments, TensorView out) {
  const Check check("rms_norm", backend);
  if (x.shape.rank() < 1) check.fail("x is [], expected [..., hidden]");
  check.shape("weight", weight.values(), {x.shape[x.shape.rank() - 1]});
  check.shape("out", out, x.shape);
  check.activation("x", x);
  check.weight("weight", weight.values());
  check.activation("out", out);
  check.same_or_apart("out", out, "x", x);
  check.apart("out", out, "weight", weight.values());
  if (!(arguments.eps >= 0.0)) {
    check.fail("eps is " + std::to_string(arguments.eps) + ", expected >= 0");
  }
  backend.rms_norm(x, weight, arguments, out);
}

}  // namespace octlm::model::ops
