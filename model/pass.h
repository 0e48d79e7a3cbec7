// One pass of rows through the model: the decoder issues every op through it, with the module that
// the op is. The constants of the function come from the config here and are arguments of the ops;
// a fault changes them, an observer sees what goes in and comes out. Both are null as a rule, and
// then cost a test each.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/config.h"
#include "model/fault.h"
#include "model/modules.h"
#include "model/observer.h"
#include "model/ops/backend.h"
#include "model/rope_table.h"
#include "model/tensor.h"

namespace octlm::model {

// What RoPE's table is made from, with the fault in it.
RopeTableArguments rope_table_arguments(const Config& config, const Fault* fault);

class Pass {
 public:
  // REQUIRES: what it is given outlives it. observer and fault may be null.
  Pass(const Config& config, Backend& backend, const ResidentRopeTable& rope, Observer* observer,
       const Fault* fault);

  // What follows is of positions [first_position, first_position + seq); `cached`: the call did not
  // start at position 0.
  void begin_rows(std::int64_t first_position, std::int64_t seq, bool cached);
  // What follows is of this layer.
  void begin_layer(std::int64_t layer) { layer_ = layer; }

  // Ops that are a module; tensors as in the op's header.
  void embedding(Module module, const Weight& table, std::span<const std::int32_t> ids,
                 const TensorView& out) const;
  void rms_norm(Module module, const TensorView& x, const Weight& weight,
                const TensorView& out) const;
  void linear(Module module, const TensorView& x, const Weight& weight,
              const TensorView& out) const;
  // The same, for rows of these positions.
  void rms_norm_of(std::span<const std::int64_t> positions, Module module, const TensorView& x,
                   const Weight& weight, const TensorView& out) const;
  void linear_of(std::span<const std::int64_t> positions, Module module, const TensorView& x,
                 const Weight& weight, const TensorView& out) const;

  // Ops inside a module.
  void rope(const TensorView& x) const;
  void kv_store(const ConstTensorView& x, const TensorView& cache) const;
  void attention(const ConstTensorView& q, const ConstTensorView& k_cache,
                 const ConstTensorView& v_cache, const TensorView& out) const;
  void silu_mul(const ConstTensorView& gate, const ConstTensorView& up,
                const TensorView& out) const;
  void add(const ConstTensorView& x, const TensorView& accumulator) const;

  // Modules made of others: their first input, and their result.
  void input(Module module, const TensorView& x) const { announce_input(module, positions_, x); }
  void output(Module module, const ConstTensorView& y) const {
    announce_output(module, positions_, y);
  }

 private:
  void announce_input(Module module, std::span<const std::int64_t> positions,
                      const TensorView& x) const {
    if (observer_ != nullptr) observer_->input({module_path(module, layer_), positions}, x);
  }
  void announce_output(Module module, std::span<const std::int64_t> positions,
                       const ConstTensorView& y) const {
    if (observer_ != nullptr) observer_->output({module_path(module, layer_), positions}, y);
  }

  const Config& config_;
  Backend& backend_;
  const ResidentRopeTable& rope_;
  Observer* observer_;
  const Fault* fault_;
  std::int64_t layer_ = 0;
  std::int64_t first_position_ = 0;
  bool cached_ = false;
  // Of the rows; filled for an observer only.
  std::vector<std::int64_t> positions_;
};

}  // namespace octlm::model
