#include "model/tensor.h"

#include <stdexcept>

namespace octlm::model {

std::size_t dtype_bytes(DType dtype) {
  switch (dtype) {
    case DType::kFloat64:
      return 8;
    case DType::kFloat32:
      return 4;
    case DType::kFloat16:
    case DType::kBFloat16:
      return 2;
  }
  assert(false && "unknown dtype");
  return 0;
}

std::string_view dtype_name(DType dtype) {
  switch (dtype) {
    case DType::kFloat64:
      return "float64";
    case DType::kFloat32:
      return "float32";
    case DType::kFloat16:
      return "float16";
    case DType::kBFloat16:
      return "bfloat16";
  }
  assert(false && "unknown dtype");
  return "";
}

DType parse_dtype(std::string_view name) {
  for (DType dtype : {DType::kFloat64, DType::kFloat32, DType::kFloat16, DType::kBFloat16}) {
    if (name == dtype_name(dtype)) return dtype;
  }
  throw std::invalid_argument("dtype '" + std::string(name) +
                              "' is not one of float32, float64, float16, bfloat16");
}

Shape::Shape(std::initializer_list<std::int64_t> extents)
    : Shape(std::span<const std::int64_t>(extents.begin(), extents.size())) {}

Shape::Shape(std::span<const std::int64_t> extents) {
  if (extents.size() > extents_.size()) {
    throw std::invalid_argument("a tensor has at most four axes, this one has " +
                                std::to_string(extents.size()));
  }
  for (std::int64_t extent : extents) {
    if (extent < 0) {
      throw std::invalid_argument("negative extent " + std::to_string(extent) + " in a shape");
    }
    extents_[static_cast<std::size_t>(rank_++)] = extent;
  }
}

std::int64_t Shape::elements() const {
  std::int64_t product = 1;
  for (int axis = 0; axis < rank_; ++axis) {
    if (__builtin_mul_overflow(product, (*this)[axis], &product)) {
      throw std::overflow_error("shape " + to_string() + " has more than 2^63 - 1 elements");
    }
  }
  return product;
}

std::string Shape::to_string() const {
  std::string text = "[";
  for (int axis = 0; axis < rank_; ++axis) {
    if (axis > 0) text += ", ";
    text += std::to_string((*this)[axis]);
  }
  return text + "]";
}

namespace {

// Byte offset of a row and the shape of `count` rows: 64-bit throughout, since row 14,135 of a
// 151,936-wide tensor is already past 2^31 elements (NVIDIA/FasterTransformer#524).
template <class View>
View rows_of(const View& tensor, std::int64_t first, std::int64_t count) {
  assert(tensor.shape.rank() >= 1 && first >= 0 && count >= 0 && first + count <= tensor.shape[0]);
  std::int64_t row_elements = 1;
  std::array<std::int64_t, 4> extents{count, 0, 0, 0};
  for (int axis = 1; axis < tensor.shape.rank(); ++axis) {
    row_elements *= tensor.shape[axis];
    extents[static_cast<std::size_t>(axis)] = tensor.shape[axis];
  }
  View view = tensor;
  const auto offset = static_cast<std::size_t>(first * row_elements) * dtype_bytes(tensor.dtype);
  if constexpr (std::is_same_v<View, TensorView>) {
    view.data = static_cast<std::byte*>(tensor.data) + offset;
  } else {
    view.data = static_cast<const std::byte*>(tensor.data) + offset;
  }
  view.shape = Shape(
      std::span<const std::int64_t>(extents.data(), static_cast<std::size_t>(tensor.shape.rank())));
  return view;
}

}  // namespace

TensorView rows(const TensorView& tensor, std::int64_t first, std::int64_t count) {
  return rows_of(tensor, first, count);
}
ConstTensorView rows(const ConstTensorView& tensor, std::int64_t first, std::int64_t count) {
  return rows_of(tensor, first, count);
}

}  // namespace octlm::model
