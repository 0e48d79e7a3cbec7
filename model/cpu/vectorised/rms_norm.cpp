#include "model/cpu/vectorised/vectorised.h"

namespace octlm::model::cpu {
namespace {

// weight + offset in float32: as if it had been stored so.
ConstTensorView shifted(const Kernels& kernels, const ConstTensorView& weight, float added,
                        Scratch& room) {
  const std::int64_t hidden = weight.shape[0];
  float* sum = room.floats(hidden);
  kernels.widen(weight.data, stored_as(weight.dtype), hidden, sum);
  for (std::int64_t i = 0; i < hidden; ++i) sum[i] += added;
  return {sum, DType::kFloat32, weight.shape};
}

}  // namespace

void Vectorised::rms_norm(ConstTensorView x, const Weight& given,
                          const ops::RmsNormArguments& arguments, TensorView out) {
  const std::int64_t hidden = given.shape()[0];
  if (hidden == 0) return;
  const ConstTensorView weight =
      arguments.weight_offset == 0.0
          ? given.values()
          : shifted(kernels_, given.values(), static_cast<float>(arguments.weight_offset),
                    shifted_weight_);
  for_rows(x.shape.elements() / hidden, hidden, [&](std::int64_t first, std::int64_t count) {
    kernels_.rms_norm(x.as<float>() + offset(first, hidden), weight.data, stored_as(weight.dtype),
                      count, hidden, arguments.eps, out.as<float>() + offset(first, hidden));
  });
}

}  // namespace octlm::model::cpu
