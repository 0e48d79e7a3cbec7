#include "model/ops/add.h"

#include "model/ops/testing/op_case.h"

namespace octlm::model::ops {
namespace {

using testing::OpTest;
using testing::Random;
using testing::Tensor;

class Add : public OpTest {};

TEST_P(Add, IsOneRounding) {
  Random random(61);
  SCOPED_TRACE(random.trace());
  for (const std::int64_t n : {1, 3, 17, 1000, 20000}) {
    const Tensor x = random.normal(activation(), {n});
    Tensor sum = random.normal(activation(), {n});
    const Tensor before = sum;
    add(*backend_, here(x), back(sum));
    for (std::int64_t i = 0; i < n; ++i) {
      Tensor expected(activation(), {1});
      expected.set(0, x[i] + before[i]);
      ASSERT_EQ(sum[i], expected[0]) << "element " << i << " of " << n;
    }
  }
}

TEST_P(Add, RefusesWhatDoesNotFit) {
  Tensor x(activation(), {4}), sum(activation(), {5});
  EXPECT_THROW(add(*backend_, here(x), back(sum)), std::invalid_argument);
}

INSTANTIATE_TEST_SUITE_P(, Add, ::testing::ValuesIn(testing::all_backends()),
                         testing::op_case_name);

}  // namespace
}  // namespace octlm::model::ops
