// The values of stored weights, exactly, one at a time: for the float64 definition and for tests.
// The float32 kernels widen whole vectors (kernels/simd_*.inc).
#pragma once

#include <cstdint>
#include <cstring>

#include "model/tensor.h"

namespace octlm::model::cpu {

inline double bfloat16_value(std::uint16_t bits) {
  const std::uint32_t wide = std::uint32_t{bits} << 16;
  float value;
  std::memcpy(&value, &wide, sizeof value);
  return static_cast<double>(value);
}

// sign, 5 bits of exponent (bias 15), 10 of fraction; exponent 0 is subnormal, 31 infinity or NaN.
inline double float16_value(std::uint16_t bits) {
  const std::uint32_t sign = std::uint32_t{bits & 0x8000u} << 16;
  const std::uint32_t exponent = (bits >> 10) & 0x1fu;
  const std::uint32_t fraction = bits & 0x3ffu;
  if (exponent == 0) return (sign != 0 ? -1.0 : 1.0) * fraction * 0x1p-24;
  const std::uint32_t wide =
      sign | (exponent == 31 ? 0xffu : exponent + 112) << 23 | fraction << 13;
  float value;
  std::memcpy(&value, &wide, sizeof value);
  return static_cast<double>(value);
}

// Element `index` of a weight, which need only be aligned to its element size.
inline double stored_value(const ConstTensorView& weight, std::int64_t index) {
  switch (weight.dtype) {
    case DType::kFloat64:
      return weight.as<double>()[index];
    case DType::kFloat32:
      return static_cast<double>(weight.as<float>()[index]);
    case DType::kFloat16:
      return float16_value(weight.as<std::uint16_t>()[index]);
    case DType::kBFloat16:
      return bfloat16_value(weight.as<std::uint16_t>()[index]);
  }
  return 0.0;
}

}  // namespace octlm::model::cpu
