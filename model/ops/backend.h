// A backend executes the decoder's operations on one device. What each operation means, its shapes
// and its checks are in model/ops/<op>.h; callers go through those functions, which check once and
// then call the virtual function here. Implementations:
//   cpu::make_backend()         float32, SIMD chosen at run time, own thread pool   (model/cpu)
//   cpu::make_definition()      float64, plain loops written as the formula: what every op means
// A CUDA backend is a third implementation, loaded at run time (model/cuda).
//
// Activations are in activation_dtype(); weights stay as stored (float32, float16, bfloat16) and
// are widened where they are used. A backend is used by one thread at a time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "model/tensor.h"

namespace octlm::model {

class Backend;

// Device memory, 64-byte aligned, released on destruction. REQUIRES: the backend outlives it.
class Buffer {
 public:
  Buffer() = default;
  Buffer(Backend* owner, void* data, std::size_t bytes)
      : owner_(owner), data_(data), bytes_(bytes) {}
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;
  ~Buffer();

  void* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }

 private:
  Backend* owner_ = nullptr;
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

class Backend {
 public:
  virtual ~Backend() = default;

  virtual std::string name() const = 0;         // "cpu", "definition"
  virtual std::string description() const = 0;  // "cpu avx512, 2 threads"
  virtual DType activation_dtype() const = 0;

  // Throws std::bad_alloc. Contents are unspecified.
  Buffer allocate(std::size_t bytes) {
    Buffer buffer(this, allocate_bytes(bytes), bytes);
    allocated_bytes_ += bytes;
    peak_bytes_ = std::max(peak_bytes_, allocated_bytes_);
    return buffer;
  }
  // The most bytes that buffers of this backend have held at one time: caches and working space.
  std::size_t peak_bytes() const { return peak_bytes_; }

  // Where this backend wants a weight that lives in host memory: the same view on a CPU.
  virtual ConstTensorView place_weight(ConstTensorView host) { return host; }

  // See model/ops/embedding.h, rms_norm.h, linear.h, rope.h, attention.h, silu_mul.h, add.h,
  // kv_store.h. Arguments have been checked.
  virtual void embedding(ConstTensorView table, std::span<const std::int32_t> ids,
                         TensorView out) = 0;
  virtual void rms_norm(ConstTensorView x, ConstTensorView weight, double eps, TensorView out) = 0;
  virtual void linear(ConstTensorView x, ConstTensorView weight, TensorView out) = 0;
  virtual void rope(TensorView x, ConstTensorView cos, ConstTensorView sin) = 0;
  virtual void kv_store(ConstTensorView x, std::int64_t first_position, TensorView cache) = 0;
  virtual void attention(ConstTensorView q, ConstTensorView k_cache, ConstTensorView v_cache,
                         std::int64_t first_position, double scale, TensorView out) = 0;
  virtual void silu_mul(ConstTensorView gate, ConstTensorView up, TensorView out) = 0;
  virtual void add(ConstTensorView x, TensorView accumulator) = 0;

 private:
  friend class Buffer;
  virtual void* allocate_bytes(std::size_t bytes) = 0;
  virtual void release_bytes(void* data, std::size_t bytes) noexcept = 0;

  std::size_t allocated_bytes_ = 0;
  std::size_t peak_bytes_ = 0;
};

inline Buffer::Buffer(Buffer&& other) noexcept
    : owner_(other.owner_), data_(other.data_), bytes_(other.bytes_) {
  other.owner_ = nullptr;
  other.data_ = nullptr;
  other.bytes_ = 0;
}
inline Buffer& Buffer::operator=(Buffer&& other) noexcept {
  std::swap(owner_, other.owner_);
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}
inline Buffer::~Buffer() {
  if (owner_ == nullptr) return;
  owner_->release_bytes(data_, bytes_);
  owner_->allocated_bytes_ -= bytes_;
}

}  // namespace octlm::model
