#include "model/tensor.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

namespace octlm::model {
namespace {

TEST(DTypeTest, NamesGoBothWays) {
  for (DType dtype : {DType::kFloat64, DType::kFloat32, DType::kFloat16, DType::kBFloat16}) {
    EXPECT_EQ(parse_dtype(dtype_name(dtype)), dtype);
  }
  EXPECT_EQ(dtype_bytes(DType::kFloat64), 8u);
  EXPECT_EQ(dtype_bytes(DType::kFloat32), 4u);
  EXPECT_EQ(dtype_bytes(DType::kFloat16), 2u);
  EXPECT_EQ(dtype_bytes(DType::kBFloat16), 2u);
  EXPECT_THROW(parse_dtype("bf16"), std::invalid_argument);
  EXPECT_THROW(parse_dtype(""), std::invalid_argument);
}

TEST(ShapeTest, CountsAndCompares) {
  EXPECT_EQ(Shape().elements(), 1);
  EXPECT_EQ(Shape().to_string(), "[]");
  EXPECT_EQ(Shape({151936, 1024}).elements(), 155'582'464);
  EXPECT_EQ(Shape({151936, 1024}).to_string(), "[151936, 1024]");
  EXPECT_EQ(Shape({3, 0}).elements(), 0);
  EXPECT_EQ(Shape({2, 3}), Shape({2, 3}));
  EXPECT_FALSE(Shape({2, 3}) == Shape({3, 2}));
  EXPECT_FALSE(Shape({2}) == Shape({2, 1}));
}

TEST(ShapeTest, RefusesWhatCannotBe) {
  EXPECT_THROW(Shape({1, 2, 3, 4, 5}), std::invalid_argument);
  EXPECT_THROW(Shape({2, -1}), std::invalid_argument);
  const std::int64_t half = std::int64_t{1} << 32;
  EXPECT_THROW(Shape({half, half}).elements(), std::overflow_error);
}

TEST(RowsTest, AreWhereTheyShouldBe) {
  std::vector<float> values(3 * 2 * 2);
  const TensorView tensor{values.data(), DType::kFloat32, {3, 2, 2}};
  const TensorView last = rows(tensor, 1, 2);
  EXPECT_EQ(last.data, values.data() + 4);
  EXPECT_EQ(last.shape, Shape({2, 2, 2}));
  EXPECT_EQ(last.bytes(), 32u);
  EXPECT_EQ(rows(ConstTensorView(tensor), 3, 0).shape, Shape({0, 2, 2}));
}

// NVIDIA/FasterTransformer#524, microsoft/onnxruntime#28385: offsets beyond 2^31 elements. No
// memory is touched: a view is an address and a shape.
TEST(RowsTest, OffsetsBeyondThirtyTwoBits) {
  const TensorView logits{nullptr, DType::kFloat32, {40960, 151936}};
  const auto offset = [&](std::int64_t row) {
    return reinterpret_cast<std::uintptr_t>(rows(logits, row, 1).data);
  };
  EXPECT_EQ(offset(14134), std::uintptr_t{14134} * 151936 * 4);
  EXPECT_EQ(offset(14135), std::uintptr_t{14135} * 151936 * 4);  // 2,147,615,360 elements
  EXPECT_EQ(offset(40959), std::uintptr_t{40959} * 151936 * 4);
}

}  // namespace
}  // namespace octlm::model
