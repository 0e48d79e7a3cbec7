// out = gate / (1 + e^-gate) * up, element by element: SwiGLU's SiLU(gate) times up.
//   gate, up, out  any one shape, activation dtype; out may be gate or up
// Computed in float32 (float64 in the definition). Two roundings to the activation dtype: of
// SiLU(gate), and of the product, as Transformers rounds them.
// Error, float32: relative <= 7 * 2^-24 per element where gate > -87 (model.ops.silu_mul); below,
// where e^-gate overflows float32, the result may be zero: absolute <= 2^-119 |up|. NaN propagates.
// Throws std::invalid_argument.
//
// Shazeer 2020, arXiv:2002.05202, eq. 6. Transformers 4.57: Qwen3MLP.forward, act_fn(gate) * up.
#pragma once

#include "model/ops/backend.h"

namespace octlm::model::ops {

void silu_mul(Backend& backend, ConstTensorView gate, ConstTensorView up, TensorView out);

}  // namespace octlm::model::ops
