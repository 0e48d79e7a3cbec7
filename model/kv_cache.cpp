#include "model/kv_cache.h"

#include <stdexcept>

namespace octlm::model {

KvCache::KvCache(const Config& config, Backend& backend, std::int64_t capacity, DType dtype)
    : capacity_(capacity), bytes_per_token_(config.cache_bytes_per_token(dtype)), dtype_(dtype) {
  if (capacity < 1 || capacity > config.max_position_embeddings) {
    throw std::invalid_argument("[kv_cache] capacity is " + std::to_string(capacity) +
                                ", expected 1 to " +
                                std::to_string(config.max_position_embeddings) +
                                " (max_position_embeddings in config.json)");
  }
  if (!backend.takes_cache(dtype)) {
    throw std::invalid_argument("[kv_cache] backend " + backend.name() +
                                " does not keep a cache in " + std::string(dtype_name(dtype)));
  }
  layer_shape_ = Shape({config.num_key_value_heads, capacity, config.head_dim});
  const std::size_t bytes = static_cast<std::size_t>(layer_shape_.elements()) * dtype_bytes(dtype_);
  for (std::int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    keys_.push_back(backend.allocate(bytes));
    values_.push_back(backend.allocate(bytes));
  }
}

std::int64_t KvCache::used_bytes() const { return length_ * bytes_per_token_; }

void KvCache::crop(std::int64_t length) {
  if (length < 0 || length > length_) {
    throw std::invalid_argument("[kv_cache] cannot crop " + std::to_string(length_) +
                                " positions to " + std::to_string(length));
  }
  length_ = length;
}

TensorView KvCache::keys(std::int64_t layer) {
  return {keys_.at(static_cast<std::size_t>(layer)).data(), dtype_, layer_shape_};
}
TensorView KvCache::values(std::int64_t layer) {
  return {values_.at(static_cast<std::size_t>(layer)).data(), dtype_, layer_shape_};
}

}  // namespace octlm::model
