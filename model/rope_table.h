// RoPE's cos and sin, rounded where Transformers rounds them (modeling_rope_utils.py and
// Qwen3RotaryEmbedding.forward of 4.57): the table is part of the function, since at position
// 40,959 one float32 ulp of the phase is 0.004 rad.
//   inv_freq[i] = 1 / theta^(2i / head_dim)   float32 exponent, the power rounded correctly to
//                                             float32, then its float32 reciprocal
//   phase[p, i] = p * inv_freq[i]             one float32 product
//   cos, sin                                  of that float32 phase, rounded to float32
// Transformers leaves the power to torch, whose vectorised pow is up to one float32 ulp off the
// correctly rounded one for about half of the bases, and not the same on every machine: inv_freq
// then differs by up to two ulps. The reference reads its own frequencies back and records by how
// many ulps they differ from this rule (rope_frequencies in its settings).
// 16-bit phases or frequencies are a bug class of their own (EleutherAI/gpt-neox#1003).
// All that the table depends on is an argument.
#pragma once

#include <cstdint>
#include <vector>

#include "model/config.h"
#include "model/tensor.h"

namespace octlm::model {

struct RopeTableArguments {
  RopeTableArguments() = default;
  explicit RopeTableArguments(const Config& config)
      : head_dim(config.head_dim), theta(config.rope_theta), scaling(config.rope_scaling) {}

  std::int64_t head_dim = 0;
  double theta = 0.0;
  RopeScaling scaling;
  // Rounded to these after they are computed in float32.
  DType inverse_frequency_dtype = DType::kFloat32;
  DType phase_dtype = DType::kFloat32;
  // -1 turns every rotation around.
  double direction = 1.0;
};

// float32 [head_dim / 2], after the scaling.
std::vector<float> rope_inverse_frequencies(const RopeTableArguments& arguments);

// The table in host memory; ops take the backend's own (Backend::make_rope_table).
class RopeTable {
 public:
  explicit RopeTable(const RopeTableArguments& arguments);
  explicit RopeTable(const Config& config) : RopeTable(RopeTableArguments(config)) {}

  // Makes rows [0, positions) available.
  void extend(std::int64_t positions);

  // Views of [count, head_dim / 2] float32, valid until the next extend().
  ConstTensorView cos(std::int64_t first_position, std::int64_t count) const;
  ConstTensorView sin(std::int64_t first_position, std::int64_t count) const;

 private:
  RopeTableArguments arguments_;
  std::vector<float> inverse_frequencies_;
  // [positions, head_dim / 2]
  std::vector<float> cos_;
  std::vector<float> sin_;
};

}  // namespace octlm::model
