#include "model/ops/rope.h"

#include "model/ops/check.h"

namespace octlm::model::ops {

void rope(Backend& backend, TensorView x, const ResidentRopeTable& table,
          const RopeArguments& arguments) {
  const Check check("rope", backend);
  check.rank("x", x, 3, "[seq, heads, head_dim]");
  if (x.shape[2] % 2 != 0) {
    check.fail("head_dim is " + std::to_string(x.shape[2]) + ", expected an even number");
  }
  check.activation("x", x);
  check.shape("table", table.cos(), {table.positions(), x.shape[2] / 2});
  check.apart("x", x, "table", table.cos());
  check.apart("x", x, "table", table.sin());
  const std::int64_t first = arguments.first_position, seq = x.shape[0];
  if (!(first >= 0 && seq <= table.positions() && first <= table.positions() - seq)) {
    check.fail(std::to_string(seq) + " positions from " + std::to_string(first) +
               " on are not in a table of " + std::to_string(table.positions()));
  }
  backend.rope(x, table, arguments);
}

}  // namespace octlm::model::ops
