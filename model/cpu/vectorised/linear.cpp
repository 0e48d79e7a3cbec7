#include <algorithm>

#include "model/cpu/vectorised/vectorised.h"

namespace octlm::model::cpu {

void Vectorised::linear(ConstTensorView x, const Weight& weight, TensorView out) {
  const std::int64_t rows = x.shape[0];
  if (rows <= kernels_.few_rows) return linear_rows(x, weight.values(), out, 0, rows);
  for (std::int64_t r = 0; r < rows; r += kernels_.max_packed_rows) {
    linear_rows(x, weight.values(), out, r, std::min(kernels_.max_packed_rows, rows - r));
  }
}

void Vectorised::linear_rows(const ConstTensorView& x, const ConstTensorView& weight,
                             const TensorView& out, std::int64_t first_row, std::int64_t rows) {
  const std::int64_t in = weight.shape[1], outputs = weight.shape[0];
  LinearArgs args{x.as<float>() + offset(first_row, in),
                  nullptr,
                  rows,
                  in,
                  outputs,
                  weight.data,
                  stored_as(weight.dtype),
                  out.as<float>() + offset(first_row, outputs)};
  const std::int64_t threads = pool().threads();
  if (rows <= kernels_.few_rows) {
    const std::int64_t piece = round_up(divide_up(outputs, 8 * threads), 16);
    pool().run(divide_up(outputs, piece), [&](std::int64_t task, int) {
      kernels_.linear_few_rows(args, task * piece, std::min(piece, outputs - task * piece));
    });
    return;
  }
  float* packed = packed_x_.floats(kernels_.packed_floats(rows, in));
  reserve(kernels_.linear_scratch_floats(rows));
  pool().run(divide_up(rows, kernels_.vector_floats),
             [&](std::int64_t task, int) { kernels_.pack_rows(args, task, packed); });
  args.packed_x = packed;
  const std::int64_t piece = std::clamp<std::int64_t>(round_up(divide_up(outputs, 4 * threads), 16),
                                                      16, kernels_.max_outputs);
  pool().run(divide_up(outputs, piece), [&](std::int64_t task, int thread) {
    kernels_.linear_many_rows(args, task * piece, std::min(piece, outputs - task * piece),
                              scratch_of(thread));
  });
}

}  // namespace octlm::model::cpu
