#include "model/pass.h"

#include <cmath>
#include <numeric>

#include "model/ops/add.h"
#include "model/ops/attention.h"
#include "model/ops/embedding.h"
#include "model/ops/kv_store.h"
#include "model/ops/linear.h"
#include "model/ops/rms_norm.h"
#include "model/ops/rope.h"
#include "model/ops/silu_mul.h"

namespace octlm::model {

RopeTableArguments rope_table_arguments(const Config& config, const Fault* fault) {
  RopeTableArguments arguments(config);
  if (fault == nullptr) return arguments;
  arguments.theta = fault->rope_theta.value_or(arguments.theta);
  arguments.inverse_frequency_dtype = fault->rope_inverse_frequency_dtype;
  arguments.phase_dtype = fault->rope_phase_dtype;
  arguments.direction = fault->rope_direction;
  return arguments;
}

Pass::Pass(const Config& config, Backend& backend, const ResidentRopeTable& rope,
           Observer* observer, const Fault* fault)
    : config_(config), backend_(backend), rope_(rope), observer_(observer), fault_(fault) {}

void Pass::begin_rows(std::int64_t first_position, std::int64_t seq, bool cached) {
  first_position_ = first_position;
  cached_ = cached;
  if (observer_ == nullptr) return;
  positions_.resize(static_cast<std::size_t>(seq));
  std::iota(positions_.begin(), positions_.end(), first_position);
}

void Pass::embedding(Module module, const Weight& table, std::span<const std::int32_t> ids,
                     const TensorView& out) const {
  ops::embedding(backend_, table, ids, out);
  output(module, out);
}

void Pass::rms_norm(Module module, const TensorView& x, const Weight& weight,
                    const TensorView& out) const {
  rms_norm_of(positions_, module, x, weight, out);
}

void Pass::linear(Module module, const TensorView& x, const Weight& weight,
                  const TensorView& out) const {
  linear_of(positions_, module, x, weight, out);
}

void Pass::rms_norm_of(std::span<const std::int64_t> positions, Module module, const TensorView& x,
                       const Weight& weight, const TensorView& out) const {
  ops::RmsNormArguments arguments{.eps = config_.rms_norm_eps};
  if (fault_ != nullptr) {
    arguments.eps = fault_->rms_norm_eps.value_or(arguments.eps);
    arguments.weight_offset = fault_->norm_weight_offset;
  }
  announce_input(module, positions, x);
  ops::rms_norm(backend_, x, weight, arguments, out);
  announce_output(module, positions, out);
}

void Pass::linear_of(std::span<const std::int64_t> positions, Module module, const TensorView& x,
                     const Weight& weight, const TensorView& out) const {
  announce_input(module, positions, x);
  ops::linear(backend_, x, weight, out);
  announce_output(module, positions, out);
}

void Pass::rope(const TensorView& x) const {
  ops::RopeArguments arguments{.first_position = first_position_};
  if (fault_ != nullptr) {
    arguments.pairing = fault_->rope_pairing;
    if (cached_) arguments.first_position += fault_->rope_cached_position_offset;
  }
  ops::rope(backend_, x, rope_, arguments);
}

void Pass::kv_store(const ConstTensorView& x, const TensorView& cache) const {
  ops::kv_store(backend_, x, first_position_, cache);
}

void Pass::attention(const ConstTensorView& q, const ConstTensorView& k_cache,
                     const ConstTensorView& v_cache, const TensorView& out) const {
  ops::AttentionArguments arguments{
      .first_position = first_position_,
      .scale = 1.0 / std::sqrt(static_cast<double>(config_.head_dim))};
  if (fault_ != nullptr) {
    arguments.scale = fault_->attention_scale.value_or(arguments.scale);
    arguments.kv_mapping = fault_->kv_mapping;
    arguments.mask_offset = fault_->mask_offset;
    arguments.causal = fault_->causal;
  }
  ops::attention(backend_, q, k_cache, v_cache, arguments, out);
}

void Pass::silu_mul(const ConstTensorView& gate, const ConstTensorView& up,
                    const TensorView& out) const {
  ops::silu_mul(backend_, gate, up, out);
}

void Pass::add(const ConstTensorView& x, const TensorView& accumulator) const {
  ops::add(backend_, x, accumulator);
}

}  // namespace octlm::model
