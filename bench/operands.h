// What the benchmarks of operations run on: a backend of `threads` threads and tensors filled with
// small numbers. Weights come in several copies used in turn, so that they are read from memory as
// in a model and not from the cache.
#pragma once

#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "model/cpu/backend.h"
#include "model/ops/backend.h"
#include "model/tensor.h"

namespace octlm::bench {

// The CPUs this process may run on.
int default_threads();

std::unique_ptr<model::Backend> make_cpu_backend();

class Operand {
 public:
  Operand(model::DType dtype, const model::Shape& shape);
  model::TensorView view() { return {memory_.data(), dtype_, shape_}; }

 private:
  model::DType dtype_;
  model::Shape shape_;
  std::vector<std::byte> memory_;
};

// Enough copies of a weight to exceed `bytes` in all.
std::vector<Operand> weight_copies(model::DType dtype, const model::Shape& shape,
                                   std::size_t bytes = std::size_t{192} << 20);

}  // namespace octlm::bench
