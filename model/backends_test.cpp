#include "model/backends.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace octlm::model {
namespace {

TEST(Backends, EachRowMakesWhatItSays) {
  ASSERT_FALSE(backends().empty());
  for (const BackendEntry& entry : backends()) {
    if (!entry.why_not().empty()) continue;
    const auto backend =
        make_backend({.device = std::string(entry.device), .dtype = entry.dtype, .threads = 1});
    EXPECT_EQ(backend->activation_dtype(), entry.dtype);
    EXPECT_EQ(&find_backend(entry.device, dtype_name(entry.dtype)), &entry);
  }
}

TEST(Backends, ListsWhatThereIs) {
  EXPECT_EQ(backend_devices(), std::vector<std::string>{"cpu"});
  EXPECT_EQ(backend_dtypes("cpu"), (std::vector<std::string>{"float32", "float64"}));
  EXPECT_TRUE(backend_dtypes("abacus").empty());
}

TEST(Backends, RefusesWhatIsNotInTheList) {
  EXPECT_THROW(find_backend("abacus", "float32"), std::invalid_argument);
  EXPECT_THROW(find_backend("cpu", "int8"), std::invalid_argument);
  EXPECT_THROW(make_backend({.device = "cpu", .dtype = DType::kBFloat16}), std::invalid_argument);
  EXPECT_THROW(make_backend({.instruction_set = "avx1024"}), std::invalid_argument);
}

}  // namespace
}  // namespace octlm::model
