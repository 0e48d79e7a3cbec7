#include "model/ops/testing/subject.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "model/cpu/backend.h"
#include "model/cpu/stored_values.h"
#include "model/ops/testing/tolerance.h"

namespace octlm::model::ops::testing {
namespace {

constexpr const char* kBackends[] = {"definition", "avx512", "avx2", "generic"};

std::unique_ptr<Backend> make(const std::string& backend, int threads) {
  if (backend == "definition") return cpu::make_definition({threads, ""});
  return cpu::make_backend({threads, backend});
}

std::uint16_t to_bfloat16(double value) {
  const auto single = static_cast<float>(value);
  std::uint32_t bits;
  std::memcpy(&bits, &single, sizeof bits);
  if (std::isnan(value)) return 0x7fc0;
  return static_cast<std::uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

std::uint16_t to_float16(double value) {
  const std::uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const double a = std::fabs(value);
  if (std::isnan(value)) return 0x7e00;
  if (a >= 65520.0) return sign | 0x7c00;
  if (a < 0x1p-14) return sign | static_cast<std::uint16_t>(std::nearbyint(a * 0x1p24));
  const int exponent = std::ilogb(a);
  const auto significand = static_cast<int>(std::nearbyint(std::ldexp(a, 10 - exponent)));
  return sign | static_cast<std::uint16_t>(((exponent + 15) << 10) + significand - 1024);
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const Subject& subject) {
  return out << subject.backend << ", weights " << dtype_name(subject.stored);
}

std::string subject_name(const ::testing::TestParamInfo<Subject>& info) {
  return info.param.backend + "_" + std::string(dtype_name(info.param.stored));
}

std::vector<Subject> all_subjects() {
  std::vector<Subject> subjects;
  for (const char* backend : kBackends) {
    for (const DType stored : {DType::kFloat32, DType::kFloat16, DType::kBFloat16}) {
      subjects.push_back({backend, stored});
    }
  }
  return subjects;
}

std::vector<Subject> all_backends() {
  std::vector<Subject> subjects;
  for (const char* backend : kBackends) subjects.push_back({backend, DType::kFloat32});
  return subjects;
}

void OpTest::SetUp() {
  const std::vector<std::string> sets = cpu::instruction_sets();
  const std::string& wanted = GetParam().backend;
  if (wanted != "definition" && std::ranges::find(sets, wanted) == sets.end()) {
    GTEST_SKIP() << "not run: this CPU has no " << wanted;
  }
  backend_ = with_threads(2);
}

double OpTest::unit() const { return unit_of(GetParam().backend, GetParam().stored); }

std::unique_ptr<Backend> OpTest::with_threads(int threads) const {
  return make(GetParam().backend, threads);
}

Tensor::Tensor(DType dtype, const Shape& shape)
    : dtype_(dtype),
      shape_(shape),
      memory_(static_cast<std::size_t>(shape.elements() + 1) * dtype_bytes(dtype)) {
  for (std::int64_t i = 0; i < size(); ++i) set(i, std::numeric_limits<double>::quiet_NaN());
}

Tensor::Tensor(DType dtype, const Shape& shape, std::span<const double> values)
    : Tensor(dtype, shape) {
  if (std::ssize(values) != size()) throw std::invalid_argument("values do not fill the shape");
  for (std::int64_t i = 0; i < size(); ++i) set(i, values[static_cast<std::size_t>(i)]);
}

void* Tensor::address() { return memory_.data() + dtype_bytes(dtype_); }

std::vector<double> Tensor::values() const {
  std::vector<double> all(static_cast<std::size_t>(size()));
  for (std::int64_t i = 0; i < size(); ++i) all[static_cast<std::size_t>(i)] = (*this)[i];
  return all;
}

double Tensor::operator[](std::int64_t index) const { return cpu::stored_value(view(), index); }

void Tensor::set(std::int64_t index, double value) {
  switch (dtype_) {
    case DType::kFloat64:
      view().as<double>()[index] = value;
      break;
    case DType::kFloat32:
      view().as<float>()[index] = static_cast<float>(value);
      break;
    case DType::kFloat16:
      view().as<std::uint16_t>()[index] = to_float16(value);
      break;
    case DType::kBFloat16:
      view().as<std::uint16_t>()[index] = to_bfloat16(value);
      break;
  }
}

std::vector<std::byte> Tensor::bytes() const {
  const auto* first = view().as<std::byte>();
  return {first, first + view().bytes()};
}

Tensor Random::normal(DType dtype, const Shape& shape) {
  std::normal_distribution<double> distribution;
  std::vector<double> values(static_cast<std::size_t>(shape.elements()));
  for (double& value : values) value = distribution(engine_);
  return Tensor(dtype, shape, values);
}

void UsedBound::compare(double actual, double expected, double bound, const std::string& where) {
  ++compared_;
  const bool both_nan = std::isnan(actual) && std::isnan(expected);
  if (both_nan || actual == expected) return;
  double used = std::fabs(actual - expected) / bound;
  if (!(used < std::numeric_limits<double>::infinity()))
    used = std::numeric_limits<double>::infinity();
  if (used > used_) {
    used_ = used;
    worst_ = where + ": " + std::to_string(actual) + ", expected " + std::to_string(expected);
  }
}

UsedBound::~UsedBound() {
  EXPECT_GT(compared_, 0) << "nothing was compared";
  EXPECT_LE(used_, 1.0) << "of the bound, at " << worst_;
  ::testing::Test::RecordProperty("used_bound", std::to_string(used_));
}

}  // namespace octlm::model::ops::testing
