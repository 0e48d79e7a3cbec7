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
#pragma once

#include <cstdint>
#include <vector>

#include "model/config.h"
#include "model/tensor.h"

namespace octlm::model {

// float32 [head_dim / 2], after the config's scaling.
std::vector<float> rope_inverse_frequencies(const Config& config);

class RopeTable {
 public:
  explicit RopeTable(const Config& config);

  // Makes rows [0, positions) available. REQUIRES: positions <= max_position_embeddings.
  void extend(std::int64_t positions);

  // Views of [count, head_dim / 2] float32, valid until the next extend().
  ConstTensorView cos(std::int64_t first_position, std::int64_t count) const;
  ConstTensorView sin(std::int64_t first_position, std::int64_t count) const;

 private:
  std::vector<float> inverse_frequencies_;
  std::vector<float> cos_;  // [positions, head_dim / 2]
  std::vector<float> sin_;
};

}  // namespace octlm::model
