#include "model/ops/rope.h"

#include <utility>

#include "model/ops/check.h"

namespace octlm::model::ops {

void rope(Backend& backend, TensorView x, ConstTensorView cos, ConstTensorView sin) {
  const Check check("rope", backend);
  check.rank("x", x, 3, "[seq, heads, head_dim]");
  if (x.shape[2] % 2 != 0) {
    check.fail("head_dim is " + std::to_string(x.shape[2]) + ", expected an even number");
  }
  check.activation("x", x);
  for (const auto& [name, table] : {std::pair{"cos", cos}, std::pair{"sin", sin}}) {
    check.shape(name, table, {x.shape[0], x.shape[2] / 2});
    if (table.dtype != DType::kFloat32) {
      check.fail(std::string(name) + " is " + std::string(dtype_name(table.dtype)) +
                 ", expected float32");
    }
    check.weight(name, table);
    check.apart("x", x, name, table);
  }
  backend.rope(x, cos, sin);
}

}  // namespace octlm::model::ops
