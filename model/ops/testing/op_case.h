// What an operation's test runs over: every backend and every stored dtype. Tensors reach the op
// through the backend, so that the same test serves one with memory of its own.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <ostream>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "model/ops/backend.h"
#include "model/tensor.h"

namespace octlm::model::ops::testing {

struct OpCase {
  std::string backend;  // "definition" or an instruction set
  DType stored;
};
std::ostream& operator<<(std::ostream& out, const OpCase& op_case);
std::string op_case_name(const ::testing::TestParamInfo<OpCase>& info);

// All of them, whatever this CPU has.
std::vector<OpCase> all_op_cases();
// Each backend once, for operations without weights.
std::vector<OpCase> all_backends();

// A tensor in host memory, which is aligned to its element size and no more, and ends where it
// ends.
class Tensor {
 public:
  // Every element NaN, so that what is read without having been written shows.
  Tensor(DType dtype, const Shape& shape);
  // Rounded to nearest even.
  Tensor(DType dtype, const Shape& shape, std::span<const double> values);

  TensorView view() { return {address(), dtype_, shape_}; }
  ConstTensorView view() const { return {const_cast<Tensor*>(this)->address(), dtype_, shape_}; }
  std::int64_t size() const { return shape_.elements(); }
  double operator[](std::int64_t index) const;
  void set(std::int64_t index, double value);
  std::vector<double> values() const;
  std::vector<std::byte> bytes() const;

  // The same with the element in front, [1 + size], which nothing may change.
  TensorView guarded() { return {memory_.data(), dtype_, Shape({size() + 1})}; }
  ConstTensorView guarded() const { return const_cast<Tensor*>(this)->guarded(); }

 private:
  void* address();

  DType dtype_;
  Shape shape_;
  std::vector<std::byte> memory_;
};

// A tensor's copy in the backend's memory, laid out as in the host's: aligned to its element size
// and no more, and ending where it ends. Given a tensor to bring it back to, it does so on
// destruction, that is at the end of the expression that calls the op.
class Placed {
 public:
  Placed(Backend& backend, const Tensor& tensor, Tensor* bring_back);
  ~Placed();
  Placed(const Placed&) = delete;
  Placed& operator=(const Placed&) = delete;

  TensorView view() const;
  operator TensorView() const { return view(); }
  operator ConstTensorView() const { return view(); }

 private:
  TensorView guarded() const;

  Backend& backend_;
  const Tensor& tensor_;
  Tensor* bring_back_;
  Buffer buffer_;
};

// What an op reads; and what it writes, or reads and writes.
inline Placed here(Backend& backend, const Tensor& tensor) { return {backend, tensor, nullptr}; }
inline Placed back(Backend& backend, Tensor& tensor) { return {backend, tensor, &tensor}; }

// A test whose SetUp makes the case's backend, or skips with the reason.
class OpTest : public ::testing::TestWithParam<OpCase> {
 protected:
  void SetUp() override;

  DType activation() const { return backend_->activation_dtype(); }
  DType stored() const { return GetParam().stored; }
  double unit() const;
  std::unique_ptr<Backend> with_threads(int threads) const;

  Placed here(const Tensor& tensor) { return {*backend_, tensor, nullptr}; }
  Placed back(Tensor& tensor) { return {*backend_, tensor, &tensor}; }
  Weight weight_of(const Tensor& tensor) { return backend_->make_weight(tensor.view()); }

  std::unique_ptr<Backend> backend_;
};

// Deterministic; prints its seed with every failure (SCOPED_TRACE(random.trace())).
class Random {
 public:
  explicit Random(std::uint32_t seed) : seed_(seed), engine_(seed) {}
  std::string trace() const { return "random seed " + std::to_string(seed_); }
  // Normal, standard deviation 1.
  Tensor normal(DType dtype, const Shape& shape);

 private:
  std::uint32_t seed_;
  std::mt19937 engine_;
};

// Collects |error| / bound; a NaN or infinity on one side only counts as infinite. The largest is
// what the test expects to be at most 1.
class UsedBound {
 public:
  void compare(double actual, double expected, double bound, const std::string& where);
  ~UsedBound();
  UsedBound() = default;
  UsedBound(const UsedBound&) = delete;
  UsedBound& operator=(const UsedBound&) = delete;

 private:
  double used_ = 0.0;
  std::int64_t compared_ = 0;
  std::string worst_;
};

}  // namespace octlm::model::ops::testing
