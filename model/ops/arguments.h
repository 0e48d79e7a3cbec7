// The constants of the function: every one of them is an argument of an op, with the model's usual
// value as its default where there is one. What each means is said in the op's header.
#pragma once

#include <algorithm>
#include <cstdint>

namespace octlm::model::ops {

struct RmsNormArguments {
  double eps;
  // Added to every weight, in float32 (Gemma stores weight - 1).
  double weight_offset = 0.0;
};

// Which two elements of a head are rotated together: i and i + head_dim / 2, or 2i and 2i + 1.
enum class RopePairing { kHalf, kInterleaved };

struct RopeArguments {
  // Row s of x is rotated by row first_position + s of the table.
  std::int64_t first_position;
  RopePairing pairing = RopePairing::kHalf;
};

// Which KV head serves query head h: h / (heads / kv_heads), or h % kv_heads.
enum class KvMapping { kRepeat, kTile };

struct AttentionArguments {
  std::int64_t first_position;
  double scale;
  KvMapping kv_mapping = KvMapping::kRepeat;
  std::int64_t mask_offset = 0;
  // Without the mask every query sees every stored key; mask_offset is then without effect.
  bool causal = true;

  bool usual() const { return kv_mapping == KvMapping::kRepeat && mask_offset == 0 && causal; }
  std::int64_t kv_head(std::int64_t head, std::int64_t heads, std::int64_t kv_heads) const {
    return kv_mapping == KvMapping::kRepeat ? head / (heads / kv_heads) : head % kv_heads;
  }
  // How many keys, from key 0 on, query s of seq sees: at least one, at most those stored.
  std::int64_t keys_seen(std::int64_t s, std::int64_t seq) const {
    const std::int64_t stored = first_position + seq;
    if (!causal) return stored;
    return std::clamp<std::int64_t>(first_position + s + 1 + mask_offset, 1, stored);
  }
};

}  // namespace octlm::model::ops
