#include "model/cpu/vectorised/vectorised.h"

namespace octlm::model::cpu {

void Vectorised::embedding(const Weight& table, std::span<const std::int32_t> ids, TensorView out) {
  const std::int64_t hidden = table.shape()[1];
  const auto* rows = table.values().as<std::byte>();
  for_rows(static_cast<std::int64_t>(ids.size()), hidden,
           [&](std::int64_t first, std::int64_t count) {
             for (std::int64_t r = first; r < first + count; ++r) {
               const std::int64_t id = ids[static_cast<std::size_t>(r)];
               kernels_.widen(
                   rows + static_cast<std::size_t>(offset(id, hidden)) * dtype_bytes(table.dtype()),
                   stored_as(table.dtype()), hidden, out.as<float>() + offset(r, hidden));
             }
           });
}

}  // namespace octlm::model::cpu
