#include "experiments/kinds/logit_comparison.h"

#include <gtest/gtest.h>

#include <limits>

#include "experiments/testing/fake_engine.h"

namespace octlm::experiments {
namespace {

using testing::FakeEngine;

const std::vector<std::int32_t> kIds = {3, 1, 4, 1, 5, 9, 2, 6};

verify::Measurement compare(FakeEngine& subject, FakeEngine& reference) {
  return compare_logits({subject, {kIds, reference::Split::parse("cached:half"), {}}},
                        {reference, {kIds, reference::Split::full(), {}}});
}

double number(const verify::Measurement& measurement, const char* metric) {
  return std::get<double>(measurement.metrics.at(metric));
}

TEST(CompareLogits, EqualSidesMeasureZeroWhateverTheirBlocks) {
  for (const std::int64_t subject_rows : {1, 3, 100}) {
    for (const std::int64_t reference_rows : {1, 2, 100}) {
      FakeEngine subject, reference;
      subject.rows_per_block = subject_rows;
      reference.rows_per_block = reference_rows;
      const auto measurement = compare(subject, reference);
      EXPECT_EQ(number(measurement, "max_abs_error@1"), 0.0);
      EXPECT_EQ(std::get<verify::Agreement>(measurement.metrics.at("top1_agreement@1")),
                (verify::Agreement{8, 8}));
      EXPECT_EQ(measurement.record["positions"], 8);
    }
  }
}

TEST(CompareLogits, RecordsWhatEachSideDid) {
  FakeEngine subject, reference;
  const auto record = compare(subject, reference).record;
  EXPECT_EQ(record["calls"]["subject"], nlohmann::json::parse("[[0,4],[4,4]]"));
  EXPECT_EQ(record["calls"]["reference"], nlohmann::json::parse("[[0,8]]"));
  EXPECT_EQ(record["reference"]["source"], "live");
  EXPECT_GT(record["seconds"]["subject"].get<double>(), 0.0);
  EXPECT_GT(record["seconds"]["reference"].get<double>(), 0.0);
}

TEST(CompareLogits, NamesTheWorstPlace) {
  FakeEngine subject, reference;
  subject.fault = [](std::int64_t position, std::vector<float>& row) {
    if (position == 5) row[7] += 0.25F;
  };
  const auto measurement = compare(subject, reference);
  EXPECT_NEAR(number(measurement, "max_abs_error@1"), 0.25, 1e-6);
  EXPECT_EQ(measurement.record["worst"]["position"], 5);
  EXPECT_EQ(measurement.record["worst"]["token_id"], 7);
  ASSERT_EQ(measurement.errors.max_abs_error.size(), 8U);
  for (std::size_t position = 0; position < 8; ++position) {
    EXPECT_NEAR(measurement.errors.max_abs_error[position], position == 5 ? 0.25 : 0, 1e-6);
  }
  EXPECT_EQ(measurement.errors.lone_column[5], 7);
}

// Samsung/TICO#323, pytorch/pytorch#58383 and their kind: NaN laundered into a number.
TEST(CompareLogits, NanOnEitherSideIsSeen) {
  for (const bool in_subject : {true, false}) {
    FakeEngine subject, reference;
    (in_subject ? subject : reference).fault = [](std::int64_t position, std::vector<float>& row) {
      if (position == 2) row[0] = std::numeric_limits<float>::quiet_NaN();
    };
    const auto measurement = compare(subject, reference);
    EXPECT_EQ(std::get<bool>(measurement.metrics.at("finite@1")), false);
    EXPECT_FALSE(number(measurement, "max_abs_error@1") <= 1e30);
  }
}

void expect_error(FakeEngine& subject, FakeEngine& reference, const std::string& part) {
  try {
    compare(subject, reference);
    FAIL() << "compared; expected an error that says: " << part;
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}

TEST(CompareLogits, ASideThatEndsEarlyIsAnError) {
  FakeEngine whole, cut;
  cut.stop_after = 6;
  expect_error(cut, whole, "delivered 6 of 8");
  expect_error(whole, cut, "reference ends after 6");
}

TEST(CompareLogits, AnotherWidthIsAnError) {
  FakeEngine subject, reference;
  reference.vocab = 12;
  expect_error(subject, reference, "11 wide");
}

TEST(CompareLogits, OtherPositionsAreAnError) {
  FakeEngine subject, reference;
  subject.first_position = 1;
  expect_error(subject, reference, "different positions");
}

}  // namespace
}  // namespace octlm::experiments
