#include <cmath>

#include "model/cpu/definition/definition.h"

namespace octlm::model::cpu {

// (weight + offset) * x / sqrt(mean(x^2) + eps)
void Definition::rms_norm(ConstTensorView x, const Weight& weight,
                          const ops::RmsNormArguments& arguments, TensorView out) {
  const std::int64_t hidden = weight.shape()[0];
  if (hidden == 0) return;
  pool().run(x.shape.elements() / hidden, [&](std::int64_t r, int) {
    const double* row = x.as<double>() + r * hidden;
    double* result = out.as<double>() + r * hidden;
    double sum = 0.0;
    for (std::int64_t i = 0; i < hidden; ++i) sum += row[i] * row[i];
    const double scale = 1.0 / std::sqrt(sum / static_cast<double>(hidden) + arguments.eps);
    for (std::int64_t i = 0; i < hidden; ++i) {
      result[i] = (stored_value(weight.values(), i) + arguments.weight_offset) * (row[i] * scale);
    }
  });
}

}  // namespace octlm::model::cpu
