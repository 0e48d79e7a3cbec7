// Non-owning views of tensors: an address, a dtype and a shape. Row-major and contiguous, always.
// A view never owns; whoever made it keeps the memory alive (a mapped file, a Buffer).
#pragma once

#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

namespace octlm::model {

enum class DType : std::uint8_t { kFloat64, kFloat32, kFloat16, kBFloat16 };

// Bytes of one element.
std::size_t dtype_bytes(DType dtype);
// "float64", "float32", "float16", "bfloat16": torch's names, used on the command line and in
// specs.
std::string_view dtype_name(DType dtype);
// The inverse of dtype_name. Throws std::invalid_argument that lists the names.
DType parse_dtype(std::string_view name);

// Extents, outermost first; at most four.
class Shape {
 public:
  Shape() = default;
  // Throws std::invalid_argument on more than four or negative extents.
  Shape(std::initializer_list<std::int64_t> extents);
  explicit Shape(std::span<const std::int64_t> extents);

  int rank() const { return rank_; }
  std::int64_t operator[](int axis) const {
    assert(axis >= 0 && axis < rank_);
    return extents_[static_cast<std::size_t>(axis)];
  }
  // The product of the extents (1 for rank 0). Throws std::overflow_error beyond 2^63 - 1.
  std::int64_t elements() const;
  // "[151936, 1024]"
  std::string to_string() const;
  friend bool operator==(const Shape&, const Shape&) = default;

 private:
  std::array<std::int64_t, 4> extents_{};
  int rank_ = 0;
};

struct ConstTensorView {
  const void* data = nullptr;
  DType dtype = DType::kFloat32;
  Shape shape;

  std::size_t bytes() const {
    return static_cast<std::size_t>(shape.elements()) * dtype_bytes(dtype);
  }
  template <class T>
  const T* as() const {
    return static_cast<const T*>(data);
  }
};

struct TensorView {
  void* data = nullptr;
  DType dtype = DType::kFloat32;
  Shape shape;

  std::size_t bytes() const {
    return static_cast<std::size_t>(shape.elements()) * dtype_bytes(dtype);
  }
  template <class T>
  T* as() const {
    return static_cast<T*>(data);
  }
  // A view decays to const.
  operator ConstTensorView() const { return {data, dtype, shape}; }  // NOLINT
};

// Rows [first, first + count) of a tensor along its outermost axis.
TensorView rows(const TensorView& tensor, std::int64_t first, std::int64_t count);
ConstTensorView rows(const ConstTensorView& tensor, std::int64_t first, std::int64_t count);

}  // namespace octlm::model
