// Handles for what a backend keeps of its own: weights, and RoPE's table. Made by the backend,
// released on destruction.
#pragma once

#include <memory>
#include <utility>

#include "model/tensor.h"

namespace octlm::model {

// Whatever a backend must keep alive for a handle: a packed copy, memory of its device.
class Resident {
 public:
  virtual ~Resident() = default;
};

// A weight where its backend wants it. Shape and stored dtype are the checkpoint's. A default
// Weight is empty: the architecture has none.
class Weight {
 public:
  Weight() = default;
  // For backends: `values` row-major at the backend's address; `kept` is what else they keep.
  explicit Weight(const ConstTensorView& values, std::unique_ptr<Resident> kept = nullptr)
      : values_(values), kept_(std::move(kept)) {}

  bool empty() const { return values_.data == nullptr; }
  const Shape& shape() const { return values_.shape; }
  DType dtype() const { return values_.dtype; }
  // An address of the backend's: on the CPU, host memory.
  const ConstTensorView& values() const { return values_; }
  const Resident* kept() const { return kept_.get(); }

 private:
  ConstTensorView values_;
  std::unique_ptr<Resident> kept_;
};

// RoPE's cos and sin of positions [0, positions()), as the backend wants them.
class ResidentRopeTable {
 public:
  ResidentRopeTable() = default;
  // For backends: [positions, head_dim / 2] each.
  ResidentRopeTable(Weight cos, Weight sin) : cos_(std::move(cos)), sin_(std::move(sin)) {}

  std::int64_t positions() const { return cos_.empty() ? 0 : cos_.shape()[0]; }
  std::int64_t half() const { return cos_.empty() ? 0 : cos_.shape()[1]; }
  const ConstTensorView& cos() const { return cos_.values(); }
  const ConstTensorView& sin() const { return sin_.values(); }

 private:
  Weight cos_, sin_;
};

}  // namespace octlm::model
