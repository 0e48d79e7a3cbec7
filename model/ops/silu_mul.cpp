#include "model/ops/silu_mul.h"

#include "model/ops/check.h"

namespace octlm::model::ops {

void silu_mul(Backend& backend, ConstTensorView gate, ConstTensorView up, TensorView out) {
  const Check check("silu_mul", backend);
  check.shape("up", up, gate.shape);
  check.shape("out", out, gate.shape);
  check.activation("gate", gate);
  check.activation("up", up);
  check.activation("out", out);
  check.same_or_apart("out", out, "gate", gate);
  check.same_or_apart("out", out, "up", up);
  backend.silu_mul(gate, up, out);
}

}  // namespace octlm::model::ops
