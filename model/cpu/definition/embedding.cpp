#include "model/cpu/definition/definition.h"

namespace octlm::model::cpu {

void Definition::embedding(const Weight& table, std::span<const std::int32_t> ids, TensorView out) {
  const std::int64_t hidden = table.shape()[1];
  double* result = out.as<double>();
  for (const std::int64_t id : ids) {
    for (std::int64_t i = 0; i < hidden; ++i) {
      *result++ = stored_value(table.values(), id * hidden + i);
    }
  }
}

}  // namespace octlm::model::cpu
