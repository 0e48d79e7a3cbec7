// Keys and values of every position computed so far, per layer: [kv_head, capacity, head_dim] in a
// dtype of the cache's own, by default the backend's activation dtype. Length is what has been
// computed; the decoder alone advances it, and only after a whole call has succeeded, so that a
// failed call leaves the cache as it was.
#pragma once

#include <cstdint>
#include <vector>

#include "model/config.h"
#include "model/ops/backend.h"
#include "model/tensor.h"

namespace octlm::model {

class KvCache {
 public:
  // Room for `capacity` positions. Throws std::invalid_argument when capacity is not in
  // [1, config.max_position_embeddings] or the backend does not keep a cache in this dtype.
  // REQUIRES: backend outlives the cache.
  KvCache(const Config& config, Backend& backend, std::int64_t capacity, DType dtype);
  KvCache(const Config& config, Backend& backend, std::int64_t capacity)
      : KvCache(config, backend, capacity, backend.activation_dtype()) {}

  std::int64_t length() const { return length_; }
  std::int64_t capacity() const { return capacity_; }
  DType dtype() const { return dtype_; }
  // Bytes that `length()` positions occupy: length x config.cache_bytes_per_token(dtype).
  std::int64_t used_bytes() const;

  // Forgets everything: the next call starts at position 0.
  void reset() { length_ = 0; }
  // Forgets positions from `length` on. Throws std::invalid_argument unless 0 <= length <=
  // length().
  void crop(std::int64_t length);

  // [kv_head, capacity, head_dim]
  TensorView keys(std::int64_t layer);
  TensorView values(std::int64_t layer);

 private:
  friend class Decoder;
  void advance(std::int64_t positions) { length_ += positions; }

  std::int64_t capacity_;
  std::int64_t length_ = 0;
  std::int64_t bytes_per_token_;
  Shape layer_shape_;
  DType dtype_;
  std::vector<Buffer> keys_;
  std::vector<Buffer> values_;
};

}  // namespace octlm::model
