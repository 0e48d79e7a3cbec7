#include "model/rope_table.h"

#include <cassert>
#include <cmath>
#include <numbers>

#include "model/stored_values.h"

namespace octlm::model {
namespace {

// Llama 3.1's scaling (Transformers: modeling_rope_utils.py, _compute_llama3_parameters): long
// wavelengths are stretched by `factor`, short ones kept, those between blended; all in float32, as
// there.
float llama3_scaled(float inverse_frequency, const RopeScaling& scaling) {
  const auto original = static_cast<float>(scaling.original_max_position_embeddings);
  const auto factor = static_cast<float>(scaling.factor);
  const auto low = static_cast<float>(scaling.low_freq_factor);
  const auto high = static_cast<float>(scaling.high_freq_factor);
  const float wavelength = static_cast<float>(2.0 * std::numbers::pi) / inverse_frequency;
  if (wavelength > original / low) return inverse_frequency / factor;
  if (wavelength < original / high) return inverse_frequency;
  const float smooth = (original / wavelength - low) / (high - low);
  return (1.0F - smooth) * (inverse_frequency / factor) + smooth * inverse_frequency;
}

float rounded(DType dtype, float value) {
  if (dtype == DType::kFloat32) return value;
  return static_cast<float>(rounded_to(dtype, static_cast<double>(value)));
}

}  // namespace

std::vector<float> rope_inverse_frequencies(const RopeTableArguments& arguments) {
  const std::int64_t half = arguments.head_dim / 2;
  std::vector<float> inverse(static_cast<std::size_t>(half));
  for (std::int64_t i = 0; i < half; ++i) {
    const float exponent = static_cast<float>(2 * i) / static_cast<float>(arguments.head_dim);
    // The base rounded to float32, as torch has it; a power in double, rounded once.
    const auto power = static_cast<float>(std::pow(
        static_cast<double>(static_cast<float>(arguments.theta)), static_cast<double>(exponent)));
    float frequency = 1.0F / power;
    if (arguments.scaling.kind == RopeScaling::Kind::kLlama3) {
      frequency = llama3_scaled(frequency, arguments.scaling);
    }
    inverse[static_cast<std::size_t>(i)] = rounded(arguments.inverse_frequency_dtype, frequency);
  }
  return inverse;
}

RopeTable::RopeTable(const RopeTableArguments& arguments)
    : arguments_(arguments), inverse_frequencies_(rope_inverse_frequencies(arguments)) {}

void RopeTable::extend(std::int64_t positions) {
  const auto half = inverse_frequencies_.size();
  const auto wanted = static_cast<std::size_t>(positions) * half;
  const std::size_t have = cos_.size();
  if (wanted <= have) return;
  cos_.resize(wanted);
  sin_.resize(wanted);
  for (std::size_t row = have / half; row < static_cast<std::size_t>(positions); ++row) {
    for (std::size_t i = 0; i < half; ++i) {
      const float phase =
          rounded(arguments_.phase_dtype, static_cast<float>(row) * inverse_frequencies_[i]);
      cos_[row * half + i] = static_cast<float>(std::cos(static_cast<double>(phase)));
      sin_[row * half + i] =
          static_cast<float>(arguments_.direction * std::sin(static_cast<double>(phase)));
    }
  }
}

ConstTensorView RopeTable::cos(std::int64_t first_position, std::int64_t count) const {
  const auto half = static_cast<std::int64_t>(inverse_frequencies_.size());
  assert((first_position + count) * half <= static_cast<std::int64_t>(cos_.size()));
  return {cos_.data() + first_position * half, DType::kFloat32, Shape({count, half})};
}

ConstTensorView RopeTable::sin(std::int64_t first_position, std::int64_t count) const {
  const auto half = static_cast<std::int64_t>(inverse_frequencies_.size());
  assert((first_position + count) * half <= static_cast<std::int64_t>(sin_.size()));
  return {sin_.data() + first_position * half, DType::kFloat32, Shape({count, half})};
}

}  // namespace octlm::model
