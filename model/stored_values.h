// Single elements of tensors of any dtype, as float64: for the definition, for tests and for what
// runs seldom. The vectorised kernels widen whole vectors (model/cpu/kernels/simd_*.inc).
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "model/tensor.h"

namespace octlm::model {

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

// Element `index`, exactly. The tensor need only be aligned to its element size.
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

// Rounded to float32 and then to bfloat16, each to nearest even; NaN is the quiet one.
inline std::uint16_t to_bfloat16(double value) {
  const auto single = static_cast<float>(value);
  std::uint32_t bits;
  std::memcpy(&bits, &single, sizeof bits);
  if (std::isnan(value)) return 0x7fc0;
  return static_cast<std::uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

// Rounded once, to nearest even; NaN is the quiet one.
inline std::uint16_t to_float16(double value) {
  const std::uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const double a = std::fabs(value);
  if (std::isnan(value)) return 0x7e00;
  if (a >= 65520.0) return sign | 0x7c00;
  if (a < 0x1p-14) return sign | static_cast<std::uint16_t>(std::nearbyint(a * 0x1p24));
  const int exponent = std::ilogb(a);
  const auto significand = static_cast<int>(std::nearbyint(std::ldexp(a, 10 - exponent)));
  return sign | static_cast<std::uint16_t>(((exponent + 15) << 10) + significand - 1024);
}

// Element `index` becomes `value`, rounded to the tensor's dtype.
inline void store_value(const TensorView& tensor, std::int64_t index, double value) {
  switch (tensor.dtype) {
    case DType::kFloat64:
      tensor.as<double>()[index] = value;
      return;
    case DType::kFloat32:
      tensor.as<float>()[index] = static_cast<float>(value);
      return;
    case DType::kFloat16:
      tensor.as<std::uint16_t>()[index] = to_float16(value);
      return;
    case DType::kBFloat16:
      tensor.as<std::uint16_t>()[index] = to_bfloat16(value);
      return;
  }
}

// What `value` becomes when it is stored in `dtype`.
inline double rounded_to(DType dtype, double value) {
  double memory = 0.0;
  const TensorView one{&memory, dtype, {1}};
  store_value(one, 0, value);
  return stored_value(one, 0);
}

}  // namespace octlm::model
