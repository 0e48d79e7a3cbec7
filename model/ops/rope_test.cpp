#include "model/ops/rope.h"

#include <cmath>

#include <array>

#include "model/ops/testing/subject.h"

namespace octlm::model::ops {
namespace {

using testing::OpTest;
using testing::Random;
using testing::Tensor;
using testing::UsedBound;

class Rope : public OpTest {};

// head_dim 4, theta 10000, position 1. Pairing neighbours gives
// [-1.14264, 1.92208, 2.95985, 4.02980]; position 0 cannot tell them apart (jzhang38/TinyLlama#24,
// ggml-org/llama.cpp#3018).
TEST_P(Rope, PairsHalvesAndNotNeighbours) {
  Tensor x(activation(), {1, 1, 4}, std::array{1.0, 2.0, 3.0, 4.0});
  const Tensor cos(DType::kFloat32, {1, 2}, std::array{std::cos(1.0), std::cos(0.01)});
  const Tensor sin(DType::kFloat32, {1, 2}, std::array{std::sin(1.0), std::sin(0.01)});
  rope(*backend_, x.view(), cos.view(), sin.view());
  const std::array expected{-1.98411, 1.95990, 2.46238, 4.01980};
  for (std::int64_t i = 0; i < 4; ++i)
    EXPECT_NEAR(x[i], expected[static_cast<std::size_t>(i)], 1e-5);
}

TEST_P(Rope, EqualsTheFormula) {
  Random random(31);
  SCOPED_TRACE(random.trace());
  for (const std::int64_t head_dim : {2, 4, 6, 34, 64, 80, 128}) {
    const std::int64_t seq = 5, heads = 3, half = head_dim / 2;
    Tensor x = random.normal(activation(), {seq, heads, head_dim});
    const Tensor before = x;
    const Tensor cos = random.normal(DType::kFloat32, {seq, half});
    const Tensor sin = random.normal(DType::kFloat32, {seq, half});
    rope(*backend_, x.view(), cos.view(), sin.view());
    UsedBound used;
    for (std::int64_t i = 0; i < x.size(); ++i) {
      const std::int64_t s = i / (heads * head_dim), lane = i % head_dim, pair = lane % half;
      const std::int64_t a = i - lane + pair, b = a + half;
      const long double c = cos[s * half + pair], n = sin[s * half + pair];
      const long double expected =
          lane < half ? before[a] * c - before[b] * n : before[b] * c + before[a] * n;
      const double magnitude = std::fabs(before[a]) + std::fabs(before[b]);
      const double scale =
          std::fmax(std::fabs(static_cast<double>(c)), std::fabs(static_cast<double>(n)));
      // Two products and their sum: a unit each of at most twice the magnitude.
      used.compare(x[i], static_cast<double>(expected), 2.0 * unit() * magnitude * scale,
                   "head_dim " + std::to_string(head_dim) + " at " + std::to_string(i));
    }
  }
}

TEST_P(Rope, RefusesWhatDoesNotFit) {
  Tensor x(activation(), {3, 2, 8}), cos(DType::kFloat32, {3, 4}), sin(DType::kFloat32, {2, 4});
  try {
    rope(*backend_, x.view(), cos.view(), sin.view());
    FAIL() << "accepted";
  } catch (const std::invalid_argument& error) {
    EXPECT_STREQ(error.what(), "[rope] sin is [2, 4], expected [3, 4]");
  }
}

INSTANTIATE_TEST_SUITE_P(, Rope, ::testing::ValuesIn(testing::all_backends()),
                         testing::subject_name);

}  // namespace
}  // namespace octlm::model::ops
