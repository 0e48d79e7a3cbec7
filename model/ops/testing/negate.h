// out = -x, element by element, in whatever dtype: an operation that exists to show what adding one
// takes. Its contract and dispatch are here and in negate.cpp; each backend adds one file, which
// needs nothing but the backend's header.
#pragma once

#include "model/cpu/definition/definition.h"
#include "model/cpu/vectorised/vectorised.h"
#include "model/ops/backend.h"

namespace octlm::model::ops::testing {

void negate(Backend& backend, ConstTensorView x, TensorView out);

void negate_on(cpu::Definition& backend, ConstTensorView x, TensorView out);
void negate_on(cpu::Vectorised& backend, ConstTensorView x, TensorView out);

}  // namespace octlm::model::ops::testing
