#include "model/ops/kv_store.h"

#include "model/ops/testing/op_case.h"

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
  kv_store(*backend_, here(x), 2, back(cache));
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
    EXPECT_THROW(kv_store(*backend_, here(x), first, back(cache)), std::invalid_argument) << first;
  }
  EXPECT_EQ(cache.bytes(), before);
}

// A cache has a dtype of its own: float32 behind the definition's float64 rounds each value once.
TEST_P(KvStore, ConvertsToTheCachesDtype) {
  if (!backend_->takes_cache(DType::kFloat32)) return;
  Random random(43);
  SCOPED_TRACE(random.trace());
  const Tensor x = random.normal(activation(), {2, 1, 7});
  Tensor cache(DType::kFloat32, {1, 3, 7});
  kv_store(*backend_, here(x), 1, back(cache));
  for (std::int64_t i = 0; i < 14; ++i) {
    EXPECT_EQ(cache[7 + i], static_cast<double>(static_cast<float>(x[i]))) << i;
  }
}

TEST_P(KvStore, RefusesACacheThatTheBackendDoesNotKeep) {
  const Tensor x(activation(), {1, 1, 4});
  Tensor cache(DType::kFloat16, {1, 2, 4});
  if (backend_->takes_cache(DType::kFloat16)) return;
  try {
    kv_store(*backend_, here(x), 0, back(cache));
    FAIL() << "accepted";
  } catch (const std::invalid_argument& error) {
    EXPECT_EQ(std::string(error.what()), "[kv_store] cache is float16, which backend " +
                                             backend_->name() + " does not keep a cache in");
  }
}

INSTANTIATE_TEST_SUITE_P(, KvStore, ::testing::ValuesIn(testing::all_backends()),
                         testing::op_case_name);

}  // namespace
}  // namespace octlm::model::ops
