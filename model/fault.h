// A planted fault: arguments of ops that differ from what the config asks for. The pass applies it
// to the real code path, so that the harness sees what a bug would produce. A default Fault changes
// nothing; faults that live in weights are planted in the decoder's weights function.
#pragma once

#include <cstdint>
#include <optional>

#include "model/ops/arguments.h"
#include "model/tensor.h"

namespace octlm::model {

struct Fault {
  // Every norm.
  std::optional<double> rms_norm_eps = {};
  double norm_weight_offset = 0.0;
  // RoPE: the table, which pairs are rotated, and what is added to the position in calls that start
  // behind a cache (added in every call it would change nothing: RoPE is relative).
  std::optional<double> rope_theta = {};
  DType rope_inverse_frequency_dtype = DType::kFloat32;
  DType rope_phase_dtype = DType::kFloat32;
  double rope_direction = 1.0;
  ops::RopePairing rope_pairing = ops::RopePairing::kHalf;
  std::int64_t rope_cached_position_offset = 0;
  // Attention.
  std::optional<double> attention_scale = {};
  ops::KvMapping kv_mapping = ops::KvMapping::kRepeat;
  std::int64_t mask_offset = 0;
  bool causal = true;
};

}  // namespace octlm::model
