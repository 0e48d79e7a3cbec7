// The sign is the highest bit in every dtype.
#include "model/ops/testing/negate.h"

namespace octlm::model::ops::testing {
namespace {

template <class Bits>
void flip(cpu::Vectorised& backend, const ConstTensorView& x, const TensorView& out) {
  constexpr int kSign = 8 * sizeof(Bits) - 1;
  backend.for_rows(x.shape.elements(), 1, [&](std::int64_t first, std::int64_t count) {
    for (std::int64_t i = first; i < first + count; ++i) {
      out.as<Bits>()[i] = static_cast<Bits>(x.as<Bits>()[i] ^ (Bits{1} << kSign));
    }
  });
}

}  // namespace

void negate_on(cpu::Vectorised& backend, ConstTensorView x, TensorView out) {
  switch (dtype_bytes(x.dtype)) {
    case 8:
      return flip<std::uint64_t>(backend, x, out);
    case 4:
      return flip<std::uint32_t>(backend, x, out);
    default:
      return flip<std::uint16_t>(backend, x, out);
  }
}

}  // namespace octlm::model::ops::testing
