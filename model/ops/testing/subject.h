// What an operation's test runs over: every backend and every stored dtype.
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

struct Subject {
  std::string backend;  // "definition" or an instruction set
  DType stored;
};
std::ostream& operator<<(std::ostream& out, const Subject& subject);
std::string subject_name(const ::testing::TestParamInfo<Subject>& info);

// All of them, whatever this CPU has.
std::vector<Subject> all_subjects();
// Each backend once, for operations without weights.
std::vector<Subject> all_backends();

// A test whose SetUp makes the subject's backend, or skips with the reason.
class OpTest : public ::testing::TestWithParam<Subject> {
 protected:
  void SetUp() override;

  DType activation() const { return backend_->activation_dtype(); }
  DType stored() const { return GetParam().stored; }
  double unit() const;
  std::unique_ptr<Backend> with_threads(int threads) const;

  std::unique_ptr<Backend> backend_;
};

// A tensor with its memory, which is aligned to its element size and no more, and ends where it
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

 private:
  void* address();

  DType dtype_;
  Shape shape_;
  std::vector<std::byte> memory_;
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
