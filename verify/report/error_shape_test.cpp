#include "verify/report/error_shape.h"

#include <gmock/gmock.h>

#include <cmath>

#include "verify/testing/sample_run.h"

namespace octlm::verify {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr double kBound = 1e-3;

// Of `count` positions whose error is as `of` says, from calls of which the second begins at
// `split` (0: there is one).
template <class Error>
std::vector<std::string> shape(std::int64_t count, const Error& of, std::int64_t split = 0,
                               std::optional<std::int64_t> column = std::nullopt) {
  std::vector<RowError> rows;
  for (std::int64_t row = 0; row < count; ++row) rows.push_back({row, of(row), column});
  ComparisonResult one = testing::compared(testing::key("a"), 1);
  auto& measured = std::get<Measurement>(one.outcome);
  measured.errors = error_by_position(rows);
  measured.record["calls"]["subject"] = {{0, split == 0 ? count : split}};
  if (split > 0) measured.record["calls"]["subject"].push_back({split, count - split});
  return error_shape(testing::language_program(), one, kBound);
}

TEST(ErrorShape, Position0RightTheRestWrong) {
  const auto of = [](std::int64_t row) { return row == 0 ? 1e-6 : 2.0 + 0.1 * (row % 3); };
  EXPECT_THAT(shape(20, of), ElementsAre("position 0 right, the rest wrong"));
  EXPECT_THAT(shape(20, of, 1), ElementsAre("position 0 right, the rest wrong",
                                            "only after the split at position 1"));
  EXPECT_THAT(shape(1280, of), Not(Contains("position 0 right, the rest wrong")))
      << "the first bin has ten positions";
}

TEST(ErrorShape, OnlyAfterTheSplit) {
  const auto of = [](std::int64_t row) { return row < 12 ? 1e-5 : 0.5; };
  EXPECT_THAT(shape(30, of, 12), ElementsAre("only after the split at position 12"));
  EXPECT_THAT(shape(30, of, 13), Not(Contains("only after the split at position 13")))
      << "a wrong one stands before it";
  EXPECT_THAT(shape(30, of), Not(Contains(::testing::StartsWith("only after"))));
}

TEST(ErrorShape, OnePositionOnly) {
  const auto of = [](std::int64_t row) { return row == 7 ? 0.5 : 1e-5; };
  EXPECT_THAT(shape(20, of), ElementsAre("one position only (7)"));
  EXPECT_THAT(shape(1280, of), ElementsAre("positions 0 to 9 only")) << "as far as the bins tell";
}

TEST(ErrorShape, OneColumnOnly) {
  const auto wrong = [](std::int64_t) { return 0.5; };
  EXPECT_THAT(shape(20, wrong, 0, 345), ElementsAre("one token only (345)", "everywhere"));
  EXPECT_THAT(shape(20, wrong), ElementsAre("everywhere"));
  ComparisonResult two = testing::compared(testing::key("a"), 1);
  std::get<Measurement>(two.outcome).errors =
      error_by_position(std::vector<RowError>{{0, 0.5, 345}, {1, 0.5, 346}});
  EXPECT_THAT(error_shape(testing::language_program(), two, kBound), ElementsAre("everywhere"));
}

TEST(ErrorShape, GrowingWithPosition) {
  const auto of = [](std::int64_t row) { return 1e-4 * std::pow(1.2, static_cast<double>(row)); };
  EXPECT_THAT(shape(40, of), Contains("growing with position"));
  EXPECT_THAT(shape(40, [](std::int64_t row) { return 0.1 + 0.05 * static_cast<double>(row % 7); }),
              Not(Contains("growing with position")));
}

TEST(ErrorShape, ALittleMoreIsNoGrowth) {
  EXPECT_THAT(shape(40, [](std::int64_t row) { return 0.1 + 0.01 * static_cast<double>(row); }),
              ElementsAre("everywhere"));
}

TEST(ErrorShape, WithoutAnyOfTheseItSaysWhere) {
  EXPECT_THAT(shape(30, [](std::int64_t row) { return row >= 20  ? 0.5
                                                      : row == 3 ? 1e-3
                                                                 : 9e-4; }),
              ElementsAre("from position 20 to the end"));
  EXPECT_THAT(shape(30, [](std::int64_t row) { return row >= 5 && row < 9 ? 0.5 : 9e-4; }),
              ElementsAre("positions 5 to 8 only"));
  EXPECT_THAT(shape(30, [](std::int64_t row) { return row % 10 == 0 ? 0.5 : 9e-4; }),
              ElementsAre("in 3 of 30 positions, right ones between them"));
}

TEST(ErrorShape, WhatIsNotFiniteIsWrong) {
  EXPECT_THAT(shape(20, [](std::int64_t row) { return row == 4 ? std::nan("") : 1e-5; }),
              ElementsAre("one position only (4)"));
}

TEST(ErrorShape, NothingIsSaidWithoutASeriesOrAnError) {
  EXPECT_THAT(shape(20, [](std::int64_t) { return kBound; }), IsEmpty());
  const ComparisonResult none = testing::compared(testing::key("a"), 1);
  EXPECT_THAT(error_shape(testing::language_program(), none, kBound), IsEmpty());
}

}  // namespace
}  // namespace octlm::verify
