#include "model/ops/rms_norm.h"

#include <cmath>

#include <limits>

#include "model/ops/testing/op_case.h"
#include "model/ops/testing/tolerance.h"

namespace octlm::model::ops {
namespace {

using testing::OpTest;
using testing::Random;
using testing::Tensor;
using testing::UsedBound;

class RmsNorm : public OpTest {
 protected:
  void in_place(Tensor& x, const Tensor& weight) {
    const testing::Placed both = back(x);
    rms_norm(*backend_, both, weight_of(weight), {.eps = 1e-6}, both);
  }
};

TEST_P(RmsNorm, EqualsTheFormula) {
  Random random(11);
  SCOPED_TRACE(random.trace());
  for (const std::int64_t hidden : {1, 3, 7, 16, 17, 33, 64, 100, 128, 576, 1024}) {
    const Tensor x = random.normal(activation(), {5, 3, hidden});
    const Tensor weight = random.normal(stored(), {hidden});
    Tensor out(activation(), {5, 3, hidden});
    rms_norm(*backend_, here(x), weight_of(weight), {.eps = 1e-6}, back(out));
    UsedBound used;
    for (std::int64_t r = 0; r < 15; ++r) {
      long double sum = 0;
      for (std::int64_t i = 0; i < hidden; ++i)
        sum += static_cast<long double>(x[r * hidden + i]) * x[r * hidden + i];
      const long double scale = 1 / std::sqrt(sum / hidden + 1e-6L);
      for (std::int64_t i = 0; i < hidden; ++i) {
        const auto expected = static_cast<double>(weight[i] * (x[r * hidden + i] * scale));
        // Half of the sum's error, through the root; mean, eps, sum, root, reciprocal, two
        // products.
        const double factor = 0.5 * testing::sum_factor(static_cast<double>(hidden)) + 7.0;
        used.compare(out[r * hidden + i], expected, factor * unit() * std::fabs(expected),
                     "hidden " + std::to_string(hidden) + " row " + std::to_string(r));
      }
    }
  }
}

// Gemma's weight is stored less one; a decoder that adds it where it should not is a fault to
// plant.
TEST_P(RmsNorm, OffsetIsAddedToTheWeight) {
  Random random(15);
  SCOPED_TRACE(random.trace());
  for (const std::int64_t hidden : {1, 17, 64, 100}) {
    const Tensor x = random.normal(activation(), {3, hidden});
    const Tensor weight = random.normal(stored(), {hidden});
    Tensor out(activation(), {3, hidden});
    rms_norm(*backend_, here(x), weight_of(weight), {.eps = 1e-6, .weight_offset = 1.0}, back(out));
    UsedBound used;
    for (std::int64_t r = 0; r < 3; ++r) {
      long double sum = 0;
      for (std::int64_t i = 0; i < hidden; ++i)
        sum += static_cast<long double>(x[r * hidden + i]) * x[r * hidden + i];
      const long double scale = 1 / std::sqrt(sum / hidden + 1e-6L);
      for (std::int64_t i = 0; i < hidden; ++i) {
        const auto normed = static_cast<double>(x[r * hidden + i] * scale);
        const double expected = (weight[i] + 1.0) * normed;
        const double factor = 0.5 * testing::sum_factor(static_cast<double>(hidden)) + 7.0;
        used.compare(out[r * hidden + i], expected,
                     unit() * (factor * std::fabs(expected) +
                               (std::fabs(weight[i]) + 1.0) * std::fabs(normed)),
                     "hidden " + std::to_string(hidden) + " at " + std::to_string(i));
      }
    }
  }
}

// A hard-coded eps does not show at ordinary magnitudes (NVIDIA/cutlass#1112, apache/tvm#15856).
TEST_P(RmsNorm, EpsIsTheOneGiven) {
  const std::vector<double> small(64, 0.001), ones(64, 1.0);
  const Tensor x(activation(), {1, 64}, small), weight(stored(), {64}, ones);
  Tensor out(activation(), {1, 64});
  rms_norm(*backend_, here(x), weight_of(weight), {.eps = 1e-6}, back(out));
  EXPECT_NEAR(out[0], 0.70711, 5e-6);
  rms_norm(*backend_, here(x), weight_of(weight), {.eps = 1e-5}, back(out));
  EXPECT_NEAR(out[63], 0.30151, 5e-6);
}

TEST_P(RmsNorm, InPlaceIsTheSame) {
  Random random(12);
  SCOPED_TRACE(random.trace());
  Tensor x = random.normal(activation(), {4, 77});
  const Tensor weight = random.normal(stored(), {77});
  Tensor out(activation(), {4, 77});
  rms_norm(*backend_, here(x), weight_of(weight), {.eps = 1e-6}, back(out));
  in_place(x, weight);
  EXPECT_EQ(x.bytes(), out.bytes());
}

TEST_P(RmsNorm, NanReachesItsWholeRowAndNoOther) {
  Random random(13);
  SCOPED_TRACE(random.trace());
  Tensor x = random.normal(activation(), {3, 50});
  const Tensor weight = random.normal(stored(), {50});
  x.set(50 + 49, std::numeric_limits<double>::quiet_NaN());
  in_place(x, weight);
  for (std::int64_t i = 0; i < 150; ++i) EXPECT_EQ(std::isnan(x[i]), i / 50 == 1) << i;
}

TEST_P(RmsNorm, SameBitsWithAnyNumberOfThreadsAndRows) {
  Random random(14);
  SCOPED_TRACE(random.trace());
  const Tensor x = random.normal(activation(), {50, 1024});
  const Tensor weight = random.normal(stored(), {1024});
  Tensor out(activation(), {50, 1024}), other(activation(), {50, 1024});
  rms_norm(*backend_, here(x), weight_of(weight), {.eps = 1e-6}, back(out));
  const auto one = with_threads(1);
  rms_norm(*one, testing::here(*one, x), one->make_weight(weight.view()), {.eps = 1e-6},
           testing::back(*one, other));
  EXPECT_EQ(out.bytes(), other.bytes());
  for (std::int64_t r = 0; r < 50; ++r) {
    rms_norm(*backend_, rows(here(x).view(), r, 1), weight_of(weight), {.eps = 1e-6},
             rows(back(other).view(), r, 1));
  }
  EXPECT_EQ(out.bytes(), other.bytes());
}

TEST_P(RmsNorm, RefusesWhatDoesNotFit) {
  Tensor x(activation(), {2, 2048}), weight(stored(), {1024});
  try {
    in_place(x, weight);
    FAIL() << "accepted";
  } catch (const std::invalid_argument& error) {
    EXPECT_STREQ(error.what(), "[rms_norm] weight is [1024], expected [2048]");
  }
}

INSTANTIATE_TEST_SUITE_P(, RmsNorm, ::testing::ValuesIn(testing::all_op_cases()),
                         testing::op_case_name);

}  // namespace
}  // namespace octlm::model::ops
