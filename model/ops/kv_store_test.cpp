#include "model/ops/kv_store.h"

#include "model/ops/testing/subject.h"

namespace octlm::model::ops {
namespace {

using testing::OpTest;
using testing::Random;
using testing::Tensor;

class KvStore : public OpTest {};

TEST_P(KvStore, WritesItsPositionsAndNoOthers) {
  Random random(41);
  SCOPED_TRACE(random.trace());
  const Tensor x = random.normal(activation(), {4, 3, 5});
  Tensor cache = random.normal(activation(), {3, 9, 5});
  const Tensor before = cache;
  kv_store(*backend_, x.view(), 2, cache.view());
  for (std::int64_t h = 0; h < 3; ++h) {
    for (std::int64_t p = 0; p < 9; ++p) {
      for (std::int64_t d = 0; d < 5; ++d) {
        const bool stored_here = p >= 2 && p < 6;
        EXPECT_EQ(cache[(h * 9 + p) * 5 + d],
                  stored_here ? x[((p - 2) * 3 + h) * 5 + d] : before[(h * 9 + p) * 5 + d])
            << "head " << h << " position " << p;
      }
    }
  }
}

TEST_P(KvStore, RefusesPositionsOutsideTheCacheAndWritesNothing) {
  const Tensor x(activation(), {4, 3, 5});
  Random random(42);
  Tensor cache = random.normal(activation(), {3, 9, 5});
  const auto before = cache.bytes();
  for (const std::int64_t first : {std::int64_t{-1}, std::int64_t{6}, INT64_MAX}) {
    EXPECT_THROW(kv_store(*backend_, x.view(), first, cache.view()), std::invalid_argument)
        << first;
  }
  EXPECT_EQ(cache.bytes(), before);
}

INSTANTIATE_TEST_SUITE_P(, KvStore, ::testing::ValuesIn(testing::all_backends()),
                         testing::subject_name);

}  // namespace
}  // namespace octlm::model::ops
