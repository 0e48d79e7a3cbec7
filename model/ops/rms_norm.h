// out[r, i] = weight[i] * (x[r, i] / sqrt(mean_i(x[r, i]^2) + eps))
//   x      [..., hidden]  activation dtype; a row is one hidden vector, or one head for q_norm,
//   k_norm weight [hidden]       float32, float16 or bfloat16 out    as x           may be x
// Statistics in float32 (float64 in the definition); normalised, rounded to the activation dtype,
// then multiplied by the weight: the order of Llama and Qwen3 (huggingface/transformers#30236). eps
// is the config's: at x = 0.001 the usual two differ by a factor over two (NVIDIA/cutlass#1112).
// Error, float32: relative <= (9 + sqrt(hidden) / 2) 2^-24 of the element (model.ops.rms_norm).
// NaN or infinity in a row reaches the whole row. Throws std::invalid_argument.
//
// Zhang and Sennrich 2019, arXiv:1910.07467, eq. 4. Transformers 4.57: Qwen3RMSNorm.forward.
#pragma once

#include "model/ops/backend.h"

namespace octlm::model::ops {

void rms_norm(Backend& backend, ConstTensorView x, ConstTensorView weight, double eps,
              TensorView out);

}  // namespace octlm::model::ops
