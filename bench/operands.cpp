#include "bench/operands.h"

#include <sched.h>

#include <algorithm>

namespace octlm::bench {

int default_threads() {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

std::unique_ptr<model::Backend> make_cpu_backend() {
  return model::cpu::make_backend({default_threads(), ""});
}

Operand::Operand(model::DType dtype, const model::Shape& shape)
    : dtype_(dtype),
      shape_(shape),
      memory_(static_cast<std::size_t>(shape.elements()) * model::dtype_bytes(dtype)) {
  const std::int64_t count = shape.elements();
  for (std::int64_t i = 0; i < count; ++i) {
    const float value = static_cast<float>(i % 193 - 96) * 0.01f;
    switch (dtype) {
      case model::DType::kFloat64:
        view().as<double>()[i] = static_cast<double>(value);
        break;
      case model::DType::kFloat32:
        view().as<float>()[i] = value;
        break;
      // Patterns of small numbers: 0.125 and a little, in either format.
      case model::DType::kFloat16:
        view().as<std::uint16_t>()[i] = static_cast<std::uint16_t>(0x3000 + i % 193);
        break;
      case model::DType::kBFloat16:
        view().as<std::uint16_t>()[i] = static_cast<std::uint16_t>(0x3e00 + i % 67);
        break;
    }
  }
}

std::vector<Operand> weight_copies(model::DType dtype, const model::Shape& shape,
                                   std::size_t bytes) {
  const std::size_t each = static_cast<std::size_t>(shape.elements()) * model::dtype_bytes(dtype);
  return std::vector<Operand>(std::max<std::size_t>(1, bytes / std::max<std::size_t>(each, 1)),
                              Operand(dtype, shape));
}

}  // namespace octlm::bench
