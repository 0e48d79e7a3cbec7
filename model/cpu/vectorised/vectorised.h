// The vectorised backend: cuts each operation into tasks for the pool and hands them to the kernels
// of the instruction set (model/cpu/kernels.h). No result depends on how the work is cut (see
// kernels/linear.inc). One file of this folder per operation. Arguments other than the usual ones
// (ops/arguments.h) run slower code beside the kernels.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "model/cpu/host_backend.h"
#include "model/cpu/instruction_set.h"
#include "model/cpu/memory.h"

namespace octlm::model::cpu {

// How kernels name the dtype of a weight. REQUIRES: not float64, which ops/ refuses.
Stored stored_as(DType dtype);

class Vectorised final : public HostBackend {
 public:
  Vectorised(int threads, std::string_view instruction_set);

  std::string name() const override { return "cpu"; }
  std::string description() const override {
    return with_threads(std::string("cpu ") + kernels_.name);
  }
  DType activation_dtype() const override { return DType::kFloat32; }

  void embedding(const Weight& table, std::span<const std::int32_t> ids, TensorView out) override;
  void rms_norm(ConstTensorView x, const Weight& weight, const ops::RmsNormArguments& arguments,
                TensorView out) override;
  void linear(ConstTensorView x, const Weight& weight, TensorView out) override;
  void rope(TensorView x, const ResidentRopeTable& table,
            const ops::RopeArguments& arguments) override;
  void kv_store(ConstTensorView x, std::int64_t first_position, TensorView cache) override;
  void attention(ConstTensorView q, ConstTensorView k_cache, ConstTensorView v_cache,
                 const ops::AttentionArguments& arguments, TensorView out) override;
  void silu_mul(ConstTensorView gate, ConstTensorView up, TensorView out) override;
  void add(ConstTensorView x, TensorView accumulator) override;

  // For the operations' files.
  const Kernels& kernels() const { return kernels_; }

 private:
  void linear_rows(const ConstTensorView& x, const ConstTensorView& weight, const TensorView& out,
                   std::int64_t first_row, std::int64_t rows);

  // Before the threads start: a task does not allocate, so it does not throw.
  void reserve(std::int64_t floats);
  float* scratch_of(int thread) {
    return scratch_[static_cast<std::size_t>(thread)].floats(scratch_floats_);
  }

  const Kernels& kernels_;
  std::vector<Scratch> scratch_;
  std::int64_t scratch_floats_ = 0;
  // linear's x in panels; and a norm's weight with its offset.
  Scratch packed_x_;
  Scratch shifted_weight_;
};

}  // namespace octlm::model::cpu
