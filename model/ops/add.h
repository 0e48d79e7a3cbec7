// accumulator += x, element by element: the residual connection.
//   x, accumulator  any one shape, activation dtype; x may be the accumulator
// One rounding to the activation dtype. NaN propagates. Throws std::invalid_argument.
#pragma once

#include "model/ops/backend.h"

namespace octlm::model::ops {

void add(Backend& backend, ConstTensorView x, TensorView accumulator);

}  // namespace octlm::model::ops
