// What the operations' tests cannot see: the error of e^x over its whole range, offsets beyond
// 2^31, and the choice of instruction set.
#include "model/cpu/kernels.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <new>
#include <stdexcept>
#include <vector>

#include "model/cpu/backend.h"
#include "model/cpu/instruction_set.h"
#include "model/ops/linear.h"
#include "model/ops/silu_mul.h"

namespace {
std::atomic<std::size_t> allocations{0};
}
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"  // they do match, once inlined
// Counts, so that a test can see that a decode step allocates nothing.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  ++allocations;
  if (void* data = std::malloc(bytes)) return data;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* data) noexcept { std::free(data); }
[[gnu::noinline]] void operator delete(void* data, std::size_t) noexcept { std::free(data); }

namespace octlm::model::cpu {
namespace {

class KernelsOf : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    for (const std::string& name : instruction_sets()) {
      if (name == GetParam()) kernels_ = &kernels_for(name);
    }
    if (kernels_ == nullptr) GTEST_SKIP() << "not run: this CPU has no " << GetParam();
  }
  float exp(float x) const {
    float y;
    kernels_->exp(&x, 1, &y);
    return y;
  }
  const Kernels* kernels_ = nullptr;
};

TEST_P(KernelsOf, ExpIsWithinTwoUlp) {
  constexpr std::int64_t kBatch = 1024;
  std::vector<float> x(kBatch), y(kBatch);
  double worst = 0;
  float worst_at = 0;
  for (double at = -103.9; at < 88.7;) {
    for (float& value : x) value = static_cast<float>(std::fmin(88.72, at += 193.0 / 2'000'000));
    kernels_->exp(x.data(), kBatch, y.data());
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double exact = std::exp(static_cast<double>(x[i]));
      const double ulp = std::fmax(std::ldexp(1.0, std::ilogb(exact) - 23), 0x1p-149);
      const double error = std::fabs(static_cast<double>(y[i]) - exact) / ulp;
      if (!(error <= worst)) {
        worst = error;
        worst_at = x[i];
      }
    }
  }
  EXPECT_LE(worst, 2.0) << "at " << worst_at;
  RecordProperty("worst_ulp", std::to_string(worst));
}

TEST_P(KernelsOf, ExpAtTheEnds) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(exp(0.0f), 1.0f);
  EXPECT_EQ(exp(-kInfinity), 0.0f);
  EXPECT_EQ(exp(kInfinity), kInfinity);
  EXPECT_EQ(exp(88.8f), kInfinity);
  EXPECT_EQ(exp(-1e30f), 0.0f);
  EXPECT_GT(exp(-103.0f), 0.0f);
  EXPECT_TRUE(std::isnan(exp(std::nanf(""))));
}

INSTANTIATE_TEST_SUITE_P(, KernelsOf, ::testing::Values("avx512", "avx2", "generic"));

// Row 14,135 of 151,936 logits is the first past 2^31 (NVIDIA/FasterTransformer#524); 128,256 at
// 16,744.
TEST(Offset, IsNotCutTo32Bits) {
  EXPECT_EQ(offset(14135, 151936), 2147615360);
  EXPECT_EQ(offset(16744, 128256, 5), 2147518469);
  EXPECT_EQ(offset(offset(7, 40960, 40959), 128), 41942912);
  EXPECT_EQ(offset(1'000'000, 1'000'000, 1), 1'000'000'000'001);
}

TEST(InstructionSet, BestFirstAndGenericAlways) {
  const auto sets = instruction_sets();
  ASSERT_FALSE(sets.empty());
  EXPECT_EQ(sets.back(), "generic");
  EXPECT_EQ(kernels_for("").name, sets.front());
  try {
    kernels_for("avx1024");
    FAIL() << "accepted";
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string(error.what()).find("'avx1024'"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("generic"), std::string::npos);
  }
}

TEST(Vectorised, SaysWhatItIs) {
  EXPECT_EQ(make_backend({1, "generic"})->description(), "cpu generic, 1 thread");
  EXPECT_EQ(make_definition({2, ""})->description(), "definition float64, 2 threads");
}

TEST(Vectorised, AllocatesNothingOnceWarm) {
  const auto backend = make_backend({2, ""});
  std::vector<float> x(200 * 256, 1.0f), w(300 * 256, 1.0f), y(200 * 300), kv(2 * 256 * 64, 0.5f);
  const Weight weight = backend->make_weight({w.data(), DType::kFloat32, {300, 256}});
  const auto step = [&](std::int64_t rows) {
    const TensorView out{y.data(), DType::kFloat32, {rows, 300}};
    ops::linear(*backend, {x.data(), DType::kFloat32, {rows, 256}}, weight, out);
    ops::silu_mul(*backend, out, out, out);
    backend->attention(
        {x.data(), DType::kFloat32, {rows, 4, 64}}, {kv.data(), DType::kFloat32, {2, 256, 64}},
        {kv.data(), DType::kFloat32, {2, 256, 64}}, {.first_position = 256 - rows, .scale = 0.125},
        {y.data(), DType::kFloat32, {rows, 4, 64}});
  };
  for (const std::int64_t rows : {1, 200}) {
    step(rows);
    const std::size_t before = allocations.load();
    step(rows);
    EXPECT_EQ(allocations.load(), before) << rows << " rows";
  }
}

}  // namespace
}  // namespace octlm::model::cpu
