#include "model/ops/embedding.h"

#include <cmath>

#include <array>

#include "model/ops/testing/op_case.h"

namespace octlm::model::ops {
namespace {

using testing::OpTest;
using testing::Random;
using testing::Tensor;

class Embedding : public OpTest {};

TEST_P(Embedding, IsExactAtEveryWidth) {
  Random random(21);
  SCOPED_TRACE(random.trace());
  for (const std::int64_t hidden : {1, 3, 7, 8, 16, 17, 33, 100}) {
    const Tensor table = random.normal(stored(), {11, hidden});
    const std::array<std::int32_t, 4> ids{10, 0, 3, 10};
    Tensor out(activation(), {4, hidden});
    embedding(*backend_, weight_of(table), ids, back(out));
    for (std::int64_t i = 0; i < out.size(); ++i) {
      const std::int64_t id = ids[static_cast<std::size_t>(i / hidden)];
      EXPECT_EQ(out[i], table[id * hidden + i % hidden]) << "hidden " << hidden << " at " << i;
    }
  }
}

// Every 16-bit pattern: subnormals, signed zeros, infinities; NaN stays NaN.
TEST_P(Embedding, WidensEveryPattern) {
  if (stored() == DType::kFloat32) return;
  Tensor table(stored(), {256, 256});
  for (std::int64_t i = 0; i < 65536; ++i) {
    table.view().as<std::uint16_t>()[i] = static_cast<std::uint16_t>(i);
  }
  std::vector<std::int32_t> ids(256);
  for (std::int32_t i = 0; i < 256; ++i) ids[static_cast<std::size_t>(i)] = i;
  Tensor out(activation(), {256, 256});
  embedding(*backend_, weight_of(table), ids, back(out));
  for (std::int64_t i = 0; i < 65536; ++i) {
    if (std::isnan(table[i])) {
      ASSERT_TRUE(std::isnan(out[i])) << "pattern " << i;
    } else {
      ASSERT_EQ(out[i], table[i]) << "pattern " << i;
      ASSERT_EQ(std::signbit(out[i]), std::signbit(table[i])) << "pattern " << i;
    }
  }
}

TEST_P(Embedding, RefusesIdsOutsideTheTable) {
  const Tensor table(stored(), {5, 4});
  Tensor out(activation(), {2, 4});
  for (const std::int32_t bad : {-1, 5}) {
    const std::array<std::int32_t, 2> ids{0, bad};
    try {
      embedding(*backend_, weight_of(table), ids, back(out));
      FAIL() << "accepted " << bad;
    } catch (const std::invalid_argument& error) {
      EXPECT_EQ(std::string(error.what()),
                "[embedding] ids[1] is " + std::to_string(bad) + ", expected [0, 5)");
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, Embedding, ::testing::ValuesIn(testing::all_op_cases()),
                         testing::op_case_name);

}  // namespace
}  // namespace octlm::model::ops
