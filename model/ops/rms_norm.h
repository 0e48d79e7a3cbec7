// out[r, i] = w[i] * (x[r, i] / sqrt(mean_i(x[r, i]^2) + eps))   w = weight + weight_offset
//   x       [..., hidden]  activation dtype; a row is a hidden vector, or a head for q_norm, k_norm
//   weight  [hidden]       float32, float16 or bfloat16
//   out     as x           may be x
// Statistics in float32 (float64 in the definition). Two roundings to the activation dtype: of the
// normalised value, and of its product with the weight, which is widened exactly: the order of
// Llama and Qwen3 (huggingface/transformers#30236). An offset other than 0 is added to the weight
// in float32. eps is the config's: at x = 0.001 the usual two differ by a factor over two
// (NVIDIA/cutlass#1112).
// Error, float32: relative <= (9 + sqrt(hidden) / 2) 2^-24 of the element (model.ops.rms_norm);
// with an offset, 2^-24 (|weight| + |offset|) more of the weight. NaN or infinity in a row reaches
// the whole row. Throws std::invalid_argument.
//
// Zhang and Sennrich 2019, arXiv:1910.07467, eq. 4. Transformers 4.57: Qwen3RMSNorm.forward.
#pragma once

#include "model/ops/backend.h"

namespace octlm::model::ops {

void rms_norm(Backend& backend, ConstTensorView x, const Weight& weight,
              const RmsNormArguments& arguments, TensorView out);

}  // namespace octlm::model::ops
