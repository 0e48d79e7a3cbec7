#include "model/ops/testing/op_case.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "model/cpu/backend.h"
#include "model/ops/testing/tolerance.h"
#include "model/stored_values.h"

namespace octlm::model::ops::testing {
namespace {

constexpr const char* kBackends[] = {"definition", "avx512", "avx2", "generic"};

std::unique_ptr<Backend> make(const std::string& backend, int threads) {
  if (backend == "definition") return cpu::make_definition({threads, ""});
  return cpu::make_backend({threads, backend});
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const OpCase& op_case) {
  return out << op_case.backend << ", weights " << dtype_name(op_case.stored);
}

std::string op_case_name(const ::testing::TestParamInfo<OpCase>& info) {
  return info.param.backend + "_" + std::string(dtype_name(info.param.stored));
}

std::vector<OpCase> all_op_cases() {
  std::vector<OpCase> op_cases;
  for (const char* backend : kBackends) {
    for (const DType stored : {DType::kFloat32, DType::kFloat16, DType::kBFloat16}) {
      op_cases.push_back({backend, stored});
    }
  }
  return op_cases;
}

std::vector<OpCase> all_backends() {
  std::vector<OpCase> op_cases;
  for (const char* backend : kBackends) op_cases.push_back({backend, DType::kFloat32});
  return op_cases;
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
  for (std::int64_t i = 0; i <= size(); ++i) {
    store_value(guarded(), i, std::numeric_limits<double>::quiet_NaN());
  }
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

double Tensor::operator[](std::int64_t index) const { return stored_value(view(), index); }

void Tensor::set(std::int64_t index, double value) { store_value(view(), index, value); }

std::vector<std::byte> Tensor::bytes() const {
  const auto* first = view().as<std::byte>();
  return {first, first + view().bytes()};
}

Placed::Placed(Backend& backend, const Tensor& tensor, Tensor* bring_back)
    : backend_(backend),
      tensor_(tensor),
      bring_back_(bring_back),
      buffer_(backend.allocate(tensor.guarded().bytes())) {
  backend_.upload(tensor_.guarded(), guarded());
}

Placed::~Placed() {
  Tensor after = tensor_;
  backend_.download(guarded(), after.guarded());
  EXPECT_TRUE(std::isnan(stored_value(after.guarded(), 0))) << "written in front of the tensor";
  if (bring_back_ != nullptr) {
    *bring_back_ = after;
  } else {
    EXPECT_EQ(after.bytes(), tensor_.bytes()) << "an input was written";
  }
}

TensorView Placed::guarded() const {
  const ConstTensorView host = tensor_.guarded();
  return {buffer_.data(), host.dtype, host.shape};
}

TensorView Placed::view() const {
  const ConstTensorView host = tensor_.view();
  return {static_cast<std::byte*>(buffer_.data()) + dtype_bytes(host.dtype), host.dtype,
          host.shape};
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
