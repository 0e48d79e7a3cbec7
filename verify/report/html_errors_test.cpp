// The drawings of the error by position.
#include <gmock/gmock.h>

#include <cmath>
#include <set>

#include "verify/report/html_sections.h"
#include "verify/testing/sample_run.h"

namespace octlm::verify {
namespace {

using testing::compared;
using testing::experiment;
using ::testing::HasSubstr;
using testing::key;
using ::testing::Not;
using testing::run_of;

ComparisonResult with_errors(const ComparisonKey& key, const std::vector<double>& errors,
                             std::int64_t split = 0) {
  const double largest = *std::ranges::max_element(errors);
  ComparisonResult one = compared(key, largest);
  auto& measured = std::get<Measurement>(one.outcome);
  std::vector<RowError> rows;
  for (const double error : errors) rows.push_back({std::ssize(rows), error});
  measured.errors = error_by_position(rows);
  measured.record["calls"]["subject"] = {{0, split ? split : std::ssize(rows)}};
  if (split) measured.record["calls"]["subject"].push_back({split, std::ssize(rows) - split});
  return one;
}

std::string charts(const RunResult& run) {
  return html::error_charts(run, run.experiments[0]).text();
}

std::size_t times(const std::string& text, const std::string& what) {
  std::size_t count = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1))
    ++count;
  return count;
}

// The y of each label beside the plot.
std::vector<double> heights(const std::string& text, const std::string& before) {
  std::vector<double> heights;
  for (std::size_t at = text.find(before); at != std::string::npos;
       at = text.find(before, at + 1)) {
    const std::size_t y = text.find(" y=\"", at) + 4;
    heights.push_back(std::stod(text.substr(y, 8)));
  }
  return heights;
}

TEST(ErrorCharts, EveryComparisonIsALineWithItsName) {
  const std::string text =
      charts(run_of({experiment("EXP-1", {with_errors(key("a"), {1e-5, 1e-4}),
                                          with_errors(key("b"), {1e-5, 2e-5}),
                                          {key("c"), NotRun{"no weights", "weights"}}})}));
  EXPECT_EQ(times(text, "<polyline"), 2U);
  EXPECT_THAT(text, HasSubstr("<title>a, full, cpu, float32</title></polyline>"));
  // Decades 1e-5 to 1e-2, of 200 pixels: 1e-5 stands on the lower edge, 1e-4 a third above it.
  EXPECT_THAT(text, HasSubstr("points=\"0,200 1000,133 \""));
  EXPECT_THAT(text, HasSubstr(">bound 1e-3</text>"));
  EXPECT_THAT(text, HasSubstr("A line for each of 2 comparisons over the positions 0 to 1. The "
                              "largest error is 1e-4, in a, full, cpu, float32. bound 1e-3."));
  EXPECT_EQ(times(text, "role=\"img\""), 2U);
  EXPECT_EQ(times(text, "<desc id="), 2U);
}

TEST(ErrorCharts, WhatIsWrongIsMarkedNotOnlyColoured) {
  const std::string text =
      charts(run_of({experiment("EXP-1", {with_errors(key("a"), {1e-5, 2e-3, 1e-5}),
                                          with_errors(key("b"), {1e-5, 1e-5, 1e-5})})}));
  EXPECT_EQ(times(text, "<polyline class=\"bad\""), 1U);
  EXPECT_EQ(times(text, "✕</text>"), 1U);
  EXPECT_THAT(text, HasSubstr("text-anchor=\"middle\" x=\"50.00%\""));
  EXPECT_THAT(text, HasSubstr("above the bound: 1"));
  const std::string nan =
      charts(run_of({experiment("EXP-1", {with_errors(key("a"), {1e-5, std::nan("")})})}));
  EXPECT_THAT(nan, HasSubstr("1000,0 "));
  EXPECT_THAT(nan, HasSubstr("on the upper edge: not finite"));
  EXPECT_THAT(nan, HasSubstr("1 not finite"));
}

TEST(ErrorCharts, TheSplitIsDrawnOnceWhereAllShareItElseOnEachLine) {
  const std::vector<double> errors(20, 1e-5);
  const std::string one = charts(
      run_of({experiment("EXP-1", {with_errors(key("a"), errors),
                                   with_errors(key("a", "cpu", "cached:half"), errors, 10)})}));
  EXPECT_EQ(times(one, "class=\"split\""), 1U);
  EXPECT_THAT(one, HasSubstr(" prefill | decode at 10 "));
  const std::string two = charts(
      run_of({experiment("EXP-1", {with_errors(key("a", "cpu", "cached:every"), errors, 1),
                                   with_errors(key("a", "cpu", "cached:half"), errors, 10)})}));
  EXPECT_EQ(times(two, "class=\"split\""), 2U);
  EXPECT_THAT(two, HasSubstr("a short upright mark: prefill | decode"));
}

// Bound and floor close together, at either edge: their labels keep apart, and inside.
TEST(ErrorCharts, LabelsDoNotOverlap) {
  for (const double floor : {9.9e-4, 1.1e-3, 1e-3, 3e-5, 0.9e-5, 1e-9}) {
    ExperimentResult noise = experiment("EXP-9", {compared(key("a"), floor)}, 1.0);
    noise.role = Role::kNoiseFloor;
    const std::string text =
        charts(run_of({experiment("EXP-1", {with_errors(key("a"), {1e-5, 5e-5, 2e-5})}), noise}));
    EXPECT_THAT(text, HasSubstr(">floor "));
    std::vector<double> right = heights(text, "dx=\"6\"");
    ASSERT_EQ(right.size(), 2U);
    std::ranges::sort(right);
    EXPECT_GE(right[1] - right[0], 13 - 0.1) << floor;
    EXPECT_LE(right[1], 204);
    std::vector<double> left = heights(text, "x=\"-6\"");
    for (std::size_t i = 1; i < left.size(); ++i) EXPECT_GE(std::fabs(left[i] - left[i - 1]), 13);
  }
}

TEST(ErrorCharts, TheHistogramCountsEveryPosition) {
  std::vector<double> errors(300, 1.5e-5);
  errors[7] = 0;
  errors[8] = 3e-4;
  const std::string text = charts(run_of({experiment("EXP-1", {with_errors(key("a"), errors)})}));
  EXPECT_EQ(times(text, "<rect class=\"bar\""), 2U);
  EXPECT_THAT(text, HasSubstr(">298</text>"));
  EXPECT_THAT(text, HasSubstr("300 positions: 1 exactly equal, 0 not finite, 298 from 7.63e-6 to "
                              "1.53e-5, 1 from 2.44e-4 to 4.88e-4."));
  EXPECT_THAT(text, HasSubstr("exactly equal, not drawn: 1"));
}

TEST(ErrorCharts, AreNotThereWithoutASeriesAndBoundedWithMany) {
  EXPECT_EQ(charts(run_of({experiment("EXP-1", {compared(key("a"), 1e-4)})})), "");
  std::vector<ComparisonResult> many;
  for (int i = 0; i < 500; ++i) {
    many.push_back(with_errors(key(std::to_string(i)), std::vector<double>(5000, 1e-5 + 1e-8 * i)));
  }
  const std::string text = charts(run_of({experiment("EXP-1", many)}));
  EXPECT_EQ(times(text, "<polyline"), 60U);
  EXPECT_THAT(text, HasSubstr("the 60 of the largest errors of 500"));
  EXPECT_LT(text.size(), 120'000U);
}

// Whatever a record says, a drawing is one.
TEST(ErrorCharts, AStrangeSeriesIsNoCrash) {
  for (const double strange : {1e300, 5e-324, -1.0, HUGE_VAL, 0.0}) {
    ComparisonResult one = with_errors(key("a"), {strange, 1e-5});
    auto& errors = std::get<Measurement>(one.outcome).errors;
    errors.powers_of_two = {{INT64_MIN, 5}, {INT64_MAX, 5}, {-2, -7}};
    errors.last = INT64_MAX;
    const std::string text = charts(run_of({experiment("EXP-1", {one})}));
    EXPECT_THAT(text, Not(HasSubstr("nan%")));
    EXPECT_THAT(text, Not(HasSubstr("class=\"bar\""))) << "no such power, no such count";
    EXPECT_THAT(text, HasSubstr("</svg>"));
    EXPECT_LT(text.size(), 50'000U);
  }
}

}  // namespace
}  // namespace octlm::verify
