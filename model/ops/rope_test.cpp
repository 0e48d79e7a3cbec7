#include "model/ops/rope.h"

#include <cmath>

#include <array>

#include "model/ops/testing/op_case.h"

namespace octlm::model::ops {
namespace {

using testing::OpTest;
using testing::Random;
using testing::Tensor;
using testing::UsedBound;

class Rope : public OpTest {
 protected:
  void run(Tensor& x, const Tensor& cos, const Tensor& sin, const RopeArguments& arguments) {
    rope(*backend_, back(x), backend_->make_rope_table(cos.view(), sin.view()), arguments);
  }
};

// head_dim 4, theta 10000, position 1. Pairing neighbours gives
// [-1.14264, 1.92208, 2.95985, 4.02980]; position 0 cannot tell them apart (jzhang38/TinyLlama#24,
// ggml-org/llama.cpp#3018).
TEST_P(Rope, PairsHalvesAndNotNeighbours) {
  Tensor x(activation(), {1, 1, 4}, std::array{1.0, 2.0, 3.0, 4.0});
  const Tensor cos(DType::kFloat32, {1, 2}, std::array{std::cos(1.0), std::cos(0.01)});
  const Tensor sin(DType::kFloat32, {1, 2}, std::array{std::sin(1.0), std::sin(0.01)});
  run(x, cos, sin, {.first_position = 0});
  const std::array expected{-1.98411, 1.95990, 2.46238, 4.01980};
  for (std::int64_t i = 0; i < 4; ++i)
    EXPECT_NEAR(x[i], expected[static_cast<std::size_t>(i)], 1e-5);
}

// The same, paired as that fault pairs it: an argument of the op, so that it can be planted.
TEST_P(Rope, PairsNeighboursWhenAskedTo) {
  Tensor x(activation(), {1, 1, 4}, std::array{1.0, 2.0, 3.0, 4.0});
  const Tensor cos(DType::kFloat32, {1, 2}, std::array{std::cos(1.0), std::cos(0.01)});
  const Tensor sin(DType::kFloat32, {1, 2}, std::array{std::sin(1.0), std::sin(0.01)});
  run(x, cos, sin, {.first_position = 0, .pairing = RopePairing::kInterleaved});
  const std::array expected{-1.14264, 1.92208, 2.95985, 4.02980};
  for (std::int64_t i = 0; i < 4; ++i)
    EXPECT_NEAR(x[i], expected[static_cast<std::size_t>(i)], 1e-5);
}

// Row first_position of the table, not row 0.
TEST_P(Rope, ReadsTheTableAtItsPosition) {
  Random random(32);
  SCOPED_TRACE(random.trace());
  const Tensor cos = random.normal(DType::kFloat32, {9, 5});
  const Tensor sin = random.normal(DType::kFloat32, {9, 5});
  for (const RopePairing pairing : {RopePairing::kHalf, RopePairing::kInterleaved}) {
    Tensor x = random.normal(activation(), {3, 2, 10});
    Tensor late = x;
    run(late, cos, sin, {.first_position = 6, .pairing = pairing});
    rope(*backend_, back(x),
         backend_->make_rope_table(rows(cos.view(), 6, 3), rows(sin.view(), 6, 3)),
         {.first_position = 0, .pairing = pairing});
    EXPECT_EQ(x.bytes(), late.bytes());
  }
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
    run(x, cos, sin, {.first_position = 0});
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
  Tensor x(activation(), {3, 2, 8});
  const Tensor cos(DType::kFloat32, {3, 4}), narrow(DType::kFloat32, {3, 3});
  const auto message = [&](const Tensor& c, const Tensor& s, std::int64_t first) {
    try {
      run(x, c, s, {.first_position = first});
    } catch (const std::invalid_argument& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  EXPECT_EQ(message(cos, Tensor(DType::kFloat32, {2, 4}), 0),
            "[make_rope_table] sin is [2, 4], expected [3, 4]");
  EXPECT_EQ(message(narrow, narrow, 0), "[rope] table is [3, 3], expected [3, 4]");
  EXPECT_EQ(message(cos, cos, 1), "[rope] 3 positions from 1 on are not in a table of 3");
  EXPECT_EQ(message(cos, cos, -1), "[rope] 3 positions from -1 on are not in a table of 3");
}

INSTANTIATE_TEST_SUITE_P(, Rope, ::testing::ValuesIn(testing::all_backends()),
                         testing::op_case_name);

}  // namespace
}  // namespace octlm::model::ops
