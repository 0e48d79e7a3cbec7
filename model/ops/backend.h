// A backend executes the decoder's operations on one device, in one activation dtype, and owns the
// memory they run on. What each operation means, its shapes and its checks are in model/ops/<op>.h;
// callers go through those functions, which check once and then call the virtual function here. The
// list of backends, by device and dtype, is model/backends.h.
//
// Activations are in activation_dtype(); weights stay as stored (float32, float16, bfloat16) and
// are widened where they are used. Addresses in views and buffers are the backend's: only upload(),
// download() and on_host() cross to the host. A backend is used by one thread at a time; operations
// take effect in the order of the calls.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "model/ops/arguments.h"
#include "model/ops/weight.h"
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

  // "cpu", "definition"
  virtual std::string name() const = 0;
  // "cpu avx512, 2 threads"
  virtual std::string description() const = 0;
  virtual DType activation_dtype() const = 0;
  // Whether kv_store and attention take a cache of this dtype.
  virtual bool takes_cache(DType dtype) const { return dtype == activation_dtype(); }

  // Throws std::bad_alloc. Contents are unspecified.
  Buffer allocate(std::size_t bytes) {
    Buffer buffer(this, allocate_bytes(bytes), bytes);
    allocated_bytes_ += bytes;
    peak_bytes_ = std::max(peak_bytes_, allocated_bytes_);
    return buffer;
  }
  // The most bytes that buffers of this backend have held at one time: caches and working space.
  std::size_t peak_bytes() const { return peak_bytes_; }

  // The backend's own handle of a weight in host memory, which must outlive it: a CPU may keep
  // looking at it there. Throws std::invalid_argument unless it is float32, float16 or bfloat16 and
  // aligned to its elements.
  Weight make_weight(ConstTensorView host);
  // The backend's own RoPE table from float32 host tables [positions, head_dim / 2], which it
  // copies.
  ResidentRopeTable make_rope_table(ConstTensorView cos, ConstTensorView sin);

  // Copies of equal shape and dtype, complete on return. `here` is the backend's memory.
  void upload(ConstTensorView host, TensorView here);
  void download(ConstTensorView here, TensorView host);
  // The values in host memory: where they are when that is host memory, else copied into `room`.
  // Valid until `here` or `room` changes.
  virtual ConstTensorView on_host(ConstTensorView here, std::vector<std::byte>& room);
  // Returns when everything that was called has taken effect.
  virtual void synchronise() {}

  // See model/ops/embedding.h, rms_norm.h, linear.h, rope.h, attention.h, silu_mul.h, add.h,
  // kv_store.h. Arguments have been checked.
  virtual void embedding(const Weight& table, std::span<const std::int32_t> ids,
                         TensorView out) = 0;
  virtual void rms_norm(ConstTensorView x, const Weight& weight,
                        const ops::RmsNormArguments& arguments, TensorView out) = 0;
  virtual void linear(ConstTensorView x, const Weight& weight, TensorView out) = 0;
  virtual void rope(TensorView x, const ResidentRopeTable& table,
                    const ops::RopeArguments& arguments) = 0;
  virtual void kv_store(ConstTensorView x, std::int64_t first_position, TensorView cache) = 0;
  virtual void attention(ConstTensorView q, ConstTensorView k_cache, ConstTensorView v_cache,
                         const ops::AttentionArguments& arguments, TensorView out) = 0;
  virtual void silu_mul(ConstTensorView gate, ConstTensorView up, TensorView out) = 0;
  virtual void add(ConstTensorView x, TensorView accumulator) = 0;

 private:
  friend class Buffer;
  virtual void* allocate_bytes(std::size_t bytes) = 0;
  virtual void release_bytes(void* data, std::size_t bytes) noexcept = 0;
  virtual void copy_in(const void* host, void* here, std::size_t bytes) = 0;
  virtual void copy_out(const void* here, void* host, std::size_t bytes) = 0;
  virtual Weight place_weight(const ConstTensorView& host) = 0;
  virtual ResidentRopeTable place_rope_table(const ConstTensorView& cos,
                                             const ConstTensorView& sin) = 0;

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
