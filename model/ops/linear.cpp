#include "model/ops/linear.h"

#include "model/ops/check.h"

namespace octlm::model::ops {

void linear(Backend& backend, ConstTensorView x, const Weight& weight, TensorView out) {
  const Check check("linear", backend);
  check.rank("x", x, 2, "[rows, in]");
  check.rank("weight", weight.values(), 2, "[out, in]");
  if (weight.shape()[1] != x.shape[1]) {
    check.fail("weight is " + weight.shape().to_string() + ", expected [out, " +
               std::to_string(x.shape[1]) + "]");
  }
  check.shape("out", out, {x.shape[0], weight.shape()[0]});
  check.activation("x", x);
  check.weight("weight", weight.values());
  check.activation("out", out);
  check.apart("out", out, "x", x);
  check.apart("out", out, "weight", weight.values());
  backend.linear(x, weight, out);
}

}  // namespace octlm::model::ops
