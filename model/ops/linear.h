// out[r, o] = sum_k x[r, k] * weight[o, k], that is x W^T: a checkpoint stores W as [out, in].
//   x      [rows, in]   activation dtype
//   weight [out, in]    float32, float16 or bfloat16; widened exactly where it is used
//   out    [rows, out]  activation dtype; must not overlap x or weight
// One rounding to the activation dtype, of the whole sum. float32 products and sums (float64 in the
// definition), never 16-bit partial sums (pytorch/pytorch#92599). The order of summation depends on
// the shape alone: any number of threads, run after run, the same bits. Different numbers of rows
// may differ in the last bits. Error, float32: |error| <= (4 + sqrt(in)) 2^-24 sum_k |x w|, of
// which model.ops.linear sees under half. NaN and infinity propagate; zero times infinity is NaN.
// Throws std::invalid_argument.
//
// Transformers: nn.Linear without bias.
#pragma once

#include "model/ops/backend.h"

namespace octlm::model::ops {

void linear(Backend& backend, ConstTensorView x, const Weight& weight, TensorView out);

}  // namespace octlm::model::ops
