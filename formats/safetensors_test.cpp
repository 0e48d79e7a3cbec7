// What a header may say is tested with the reader of model/ (model/safetensors_test.cpp).
#include "formats/safetensors.h"

#include <gmock/gmock.h>

#include <array>
#include <chrono>

#include "formats/error.h"
#include "formats/testing/message_of.h"

namespace octlm::formats {
namespace {

using ::testing::HasSubstr;

constexpr std::array<std::string_view, 2> kDtypes = {"F32", "F64"};

std::vector<StoredTensor> parse(const std::string& start, std::uint64_t data_bytes) {
  const std::uint64_t bytes = start.size() + data_bytes;
  EXPECT_EQ(safetensors_header_bytes(start, bytes, "f"), start.size() - kSafetensorsLengthBytes);
  return parse_safetensors_header(std::string_view(start).substr(kSafetensorsLengthBytes), bytes,
                                  kDtypes, "f");
}

std::vector<StoredTensor> many(std::size_t count) {
  std::vector<StoredTensor> tensors;
  for (std::size_t i = 0; i < count; ++i) {
    tensors.push_back({"layers." + std::to_string(i) + ".weight", "F32", {2, 1}, 8 * i, 8 * i + 8});
  }
  return tensors;
}

TEST(SafetensorsHeader, ComesBackAsItWasWritten) {
  const std::vector<StoredTensor> tensors = {{"a \"b\"\n\xc3\xa9", "F32", {2, 3}, 0, 24},
                                             {"empty", "F64", {0}, 24, 24},
                                             {"scalar", "F64", {}, 24, 32}};
  const std::string start = safetensors_start(tensors);
  EXPECT_EQ(start.size() % 8, 0u);
  const auto read = parse(start, 32);
  ASSERT_EQ(read.size(), tensors.size());
  for (std::size_t i = 0; i < read.size(); ++i) {
    EXPECT_EQ(read[i].name, tensors[i].name);
    EXPECT_EQ(read[i].dtype, tensors[i].dtype);
    EXPECT_EQ(read[i].shape, tensors[i].shape);
    EXPECT_EQ(read[i].begin, tensors[i].begin);
    EXPECT_EQ(read[i].end, tensors[i].end);
  }
  EXPECT_TRUE(parse(safetensors_start({}), 0).empty());
}

TEST(SafetensorsHeader, TheCallersLimitAndDtypesHold) {
  const std::string start = safetensors_start(many(2));
  EXPECT_THAT(testing::message_of<FormatError>(
                  [&] { safetensors_header_bytes(start, start.size() + 16, "f", 100); }),
              HasSubstr("is beyond the limit of 100"));
  std::vector<StoredTensor> half = many(1);
  half[0].dtype = "F16";
  EXPECT_THAT(testing::message_of<FormatError>([&] { parse(safetensors_start(half), 8); }),
              HasSubstr("unsupported dtype \"F16\"; supported: F32, F64"));
}

// Eight times the tensors take about eight times as long, not sixty-four.
TEST(SafetensorsHeader, TimeGrowsWithTheTensorsAndNotWithTheirSquare) {
  const auto seconds = [](std::size_t count) {
    const std::string start = safetensors_start(many(count));
    double least = 1e9;
    for (int repeat = 0; repeat < 3; ++repeat) {
      const auto before = std::chrono::steady_clock::now();
      EXPECT_EQ(parse(start, 8 * count).size(), count);
      const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - before;
      least = std::min(least, taken.count());
    }
    return least;
  };
  EXPECT_LT(seconds(64'000), 32 * seconds(8'000));
}

}  // namespace
}  // namespace octlm::formats
