#include "model/ops/silu_mul.h"

#include <cmath>

#include <array>
#include <limits>

#include "model/ops/testing/op_case.h"

namespace octlm::model::ops {
namespace {

using testing::OpTest;
using testing::Random;
using testing::Tensor;
using testing::UsedBound;

class SiluMul : public OpTest {};

TEST_P(SiluMul, EqualsTheFormula) {
  Random random(51);
  SCOPED_TRACE(random.trace());
  for (const std::int64_t n : {1, 3, 17, 1000, 20000}) {
    Tensor gate = random.normal(activation(), {n});
    const Tensor up = random.normal(activation(), {n});
    for (std::int64_t i = 0; i < n; ++i) gate.set(i, gate[i] * 20.0);
    Tensor out(activation(), {n});
    silu_mul(*backend_, here(gate), here(up), back(out));
    UsedBound used;
    for (std::int64_t i = 0; i < n; ++i) {
      const long double expected =
          gate[i] / (1 + std::exp(-static_cast<long double>(gate[i]))) * up[i];
      // e^x to 2 ulp = 4 units, then a sum, a quotient and a product.
      used.compare(out[i], static_cast<double>(expected),
                   7.0 * unit() * std::fabs(static_cast<double>(expected)),
                   "gate " + std::to_string(gate[i]));
    }
  }
}

TEST_P(SiluMul, ExtremesAreWhatTheFormulaGives) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const Tensor gate(activation(), {6},
                    std::array{0.0, -200.0, 200.0, kInfinity, -1000.0, std::nan("")});
  const Tensor up(activation(), {6}, std::array{3.0, 1.0, 2.0, 1.0, 1.0, 1.0});
  Tensor out(activation(), {6});
  silu_mul(*backend_, here(gate), here(up), back(out));
  EXPECT_EQ(out[0], 0.0);
  EXPECT_NEAR(out[1], 0.0, 1e-35);
  EXPECT_EQ(out[2], 400.0);
  EXPECT_EQ(out[3], kInfinity);
  EXPECT_EQ(out[4], 0.0);
  EXPECT_TRUE(std::isnan(out[5]));
}

TEST_P(SiluMul, InPlaceIsTheSame) {
  Random random(52);
  SCOPED_TRACE(random.trace());
  Tensor gate = random.normal(activation(), {3, 33}), up = random.normal(activation(), {3, 33});
  Tensor out(activation(), {3, 33});
  silu_mul(*backend_, here(gate), here(up), back(out));
  Tensor up_as_out = up;
  {
    const testing::Placed both = back(up_as_out);
    silu_mul(*backend_, here(gate), both, both);
  }
  {
    const testing::Placed both = back(gate);
    silu_mul(*backend_, both, here(up), both);
  }
  EXPECT_EQ(gate.bytes(), out.bytes());
  EXPECT_EQ(up_as_out.bytes(), out.bytes());
}

TEST_P(SiluMul, RefusesWhatDoesNotFit) {
  Tensor gate(activation(), {4}), up(activation(), {5});
  EXPECT_THROW(silu_mul(*backend_, here(gate), here(up), back(gate)), std::invalid_argument);
}

INSTANTIATE_TEST_SUITE_P(, SiluMul, ::testing::ValuesIn(testing::all_backends()),
                         testing::op_case_name);

}  // namespace
}  // namespace octlm::model::ops
