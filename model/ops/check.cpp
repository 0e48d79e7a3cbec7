#include "model/ops/check.h"

#include <cstdint>
#include <stdexcept>

namespace octlm::model::ops {
namespace {

bool overlap(const ConstTensorView& a, const ConstTensorView& b) {
  const auto a_first = reinterpret_cast<std::uintptr_t>(a.data);
  const auto b_first = reinterpret_cast<std::uintptr_t>(b.data);
  return a_first < b_first + b.bytes() && b_first < a_first + a.bytes();
}

}  // namespace

void Check::fail(const std::string& what) const {
  std::string message = "[";
  message.append(op_).append("] ").append(what);
  throw std::invalid_argument(message);
}

void Check::shape(std::string_view name, const ConstTensorView& tensor,
                  const Shape& expected) const {
  if (tensor.shape != expected) {
    fail(std::string(name) + " is " + tensor.shape.to_string() + ", expected " +
         expected.to_string());
  }
}

void Check::rank(std::string_view name, const ConstTensorView& tensor, int rank,
                 std::string_view expected) const {
  if (tensor.shape.rank() != rank) {
    fail(std::string(name) + " is " + tensor.shape.to_string() + ", expected " +
         std::string(expected));
  }
}

void Check::activation(std::string_view name, const ConstTensorView& tensor) const {
  if (tensor.dtype != backend_.activation_dtype()) {
    fail(std::string(name) + " is " + std::string(dtype_name(tensor.dtype)) + ", expected " +
         std::string(dtype_name(backend_.activation_dtype())) + " (backend " + backend_.name() +
         ")");
  }
  storage(name, tensor);
}

void Check::cache(std::string_view name, const ConstTensorView& tensor) const {
  if (!backend_.takes_cache(tensor.dtype)) {
    fail(std::string(name) + " is " + std::string(dtype_name(tensor.dtype)) + ", which backend " +
         backend_.name() + " does not keep a cache in");
  }
  storage(name, tensor);
}

void Check::weight(std::string_view name, const ConstTensorView& tensor) const {
  if (tensor.dtype == DType::kFloat64) {
    fail(std::string(name) + " is float64, expected float32, float16 or bfloat16");
  }
  storage(name, tensor);
}

void Check::storage(std::string_view name, const ConstTensorView& tensor) const {
  if (tensor.data == nullptr && tensor.shape.elements() > 0) {
    fail(std::string(name) + " has no data");
  }
  if (reinterpret_cast<std::uintptr_t>(tensor.data) % dtype_bytes(tensor.dtype) != 0) {
    fail(std::string(name) + " is not aligned to its " + std::to_string(dtype_bytes(tensor.dtype)) +
         "-byte elements");
  }
}

void Check::apart(std::string_view a_name, const ConstTensorView& a, std::string_view b_name,
                  const ConstTensorView& b) const {
  if (overlap(a, b)) fail(std::string(a_name) + " overlaps " + std::string(b_name));
}

void Check::same_or_apart(std::string_view a_name, const ConstTensorView& a,
                          std::string_view b_name, const ConstTensorView& b) const {
  if (a.data != b.data || a.bytes() != b.bytes()) apart(a_name, a, b_name, b);
}

}  // namespace octlm::model::ops
