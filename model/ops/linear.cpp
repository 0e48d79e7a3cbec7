#include "model/ops/linear.h"

#include "model/ops/check.h"

namespace octlm::model::ops {

void linear(Backend& backend, ConstTensorView x, ConstTensorView weight, TensorView out) {
  const Check check("linear", backend);
  check.rank("x", x, 2, "[rows, in]");
  check.rank("weight", weight, 2, "[out, in]");
  if (weight.shape[1] != x.shape[1]) {
    check.fail("weight is " + weight.shape.to_string() + ", expected [out, " +
               std::to_string(x.shape[1]) + "]");
  }
  check.shape("out", out, {x.shape[0], weight.shape[0]});
  check.activation("x", x);
  check.weight("weight", weight);
  check.activation("out", out);
  check.apart("out", out, "x", x);
  check.apart("out", out, "weight", weight);
  backend.linear(x, weight, out);
}

}  // namespace octlm::model::ops
