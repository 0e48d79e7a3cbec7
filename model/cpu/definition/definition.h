// The definition: what every operation means. float64 activations; each result is computed by its
// formula in the order it is read. Independent results are spread over threads, and linear() works
// on a few rows at a time so that a whole model is bearable; neither changes any result. One file
// of this folder per operation.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "model/cpu/host_backend.h"
#include "model/cpu/memory.h"
#include "model/stored_values.h"

namespace octlm::model::cpu {

class Definition final : public HostBackend {
 public:
  explicit Definition(int threads);

  std::string name() const override { return "definition"; }
  std::string description() const override { return with_threads("definition float64"); }
  DType activation_dtype() const override { return DType::kFloat64; }
  bool takes_cache(DType dtype) const override {
    return dtype == DType::kFloat64 || dtype == DType::kFloat32;
  }

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

  // For the operations' files. Room for `count` values per thread, made before the threads start.
  void reserve_doubles(std::int64_t count);
  double* doubles_of(int thread, std::int64_t count) {
    return scratch_[static_cast<std::size_t>(thread)].doubles(count);
  }

 private:
  std::vector<Scratch> scratch_;
};

}  // namespace octlm::model::cpu
