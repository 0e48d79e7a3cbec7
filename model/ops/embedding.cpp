#include "model/ops/embedding.h"

#include "model/ops/check.h"

namespace octlm::model::ops {

void embedding(Backend& backend, const Weight& table, std::span<const std::int32_t> ids,
               TensorView out) {
  const Check check("embedding", backend);
  check.rank("table", table.values(), 2, "[vocab, hidden]");
  check.weight("table", table.values());
  const auto rows = static_cast<std::int64_t>(ids.size());
  check.shape("out", out, {rows, table.shape()[1]});
  check.activation("out", out);
  check.apart("out", out, "table", table.values());
  for (std::size_t r = 0; r < ids.size(); ++r) {
    if (ids[r] < 0 || ids[r] >= table.shape()[0]) {
      check.fail("ids[" + std::to_string(r) + "] is " + std::to_string(ids[r]) + ", expected [0, " +
                 std::to_string(table.shape()[0]) + ")");
    }
  }
  backend.embedding(table, ids, out);
}

}  // namespace octlm::model::ops
