#include "verify/report/run_difference.h"

#include <gmock/gmock.h>

#include "verify/testing/sample_run.h"

namespace octlm::verify {
namespace {

using testing::compared;
using ::testing::ElementsAre;
using testing::experiment;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::key;
using ::testing::Not;
using testing::run_of;

std::vector<std::string> texts(const RunDifference& difference) {
  std::vector<std::string> all;
  for (const RunChange& change : difference.changes) all.push_back(change_text(change));
  return all;
}

RunResult run_with(double error, double bound = 1e-3) {
  return run_of({experiment("EXP-1", {compared(key("story"), error)}, bound)});
}

RunResult with_floor(RunResult run, double floor) {
  ExperimentResult one = experiment("EXP-9", {compared(key("story", "cpu", "sdpa"), floor)}, 1);
  one.role = Role::kNoiseFloor;
  run.experiments.push_back(one);
  return run;
}

TEST(Difference, OfARunWithItselfIsNothing) {
  const RunDifference made = difference(run_with(1e-4), run_with(1e-4));
  EXPECT_THAT(texts(made), IsEmpty());
  EXPECT_EQ(difference_headline(made), "nothing changed");
  EXPECT_EQ(made.common_experiments, 1);
  EXPECT_EQ(made.common_comparisons, 1);
  EXPECT_FALSE(made.got_worse());
}

TEST(Difference, NaNIsEqualToNaN) {
  EXPECT_THAT(texts(difference(run_with(std::nan("")), run_with(std::nan("")))), IsEmpty());
}

TEST(Difference, APassThatFailsIsWorse) {
  const RunDifference made = difference(run_with(1e-4), run_with(2e-3));
  EXPECT_TRUE(made.got_worse());
  EXPECT_THAT(texts(made)[0],
              HasSubstr("EXP-1 on cpu: pass -> fail: max_abs_error@1 is 2.000e-03"));
  EXPECT_THAT(texts(made)[1],
              HasSubstr("max_abs_error@1 changed in 1 comparison; most 1.000e-04 -> "
                        "2.000e-03 (20 times larger) in story"));
  const RunDifference back = difference(run_with(2e-3), run_with(1e-4));
  EXPECT_FALSE(back.got_worse());
  EXPECT_EQ(back.changes[0].weight, RunChange::Weight::kBetter);
}

// A check that is no longer made does not look like one that was never needed.
TEST(Difference, APassThatIsNotThereIsWorse) {
  EXPECT_TRUE(difference(run_with(1e-4), run_of({})).got_worse());
  EXPECT_FALSE(difference(run_of({}), run_with(1e-4)).got_worse());
  const RunResult two =
      run_of({experiment("EXP-1", {compared(key("a"), 1e-4), compared(key("b"), 1e-4)})});
  const RunResult one = run_of({experiment("EXP-1", {compared(key("a"), 1e-4)})});
  EXPECT_THAT(texts(difference(two, one)),
              ElementsAre(HasSubstr("1 comparison no longer compared: b, full, cpu")));
  EXPECT_TRUE(difference(two, one).got_worse());
  EXPECT_FALSE(difference(one, two).got_worse());
}

TEST(Difference, APassThatNoLongerCountsIsWorse) {
  RunResult loosened =
      run_of({experiment("EXP-1", {compared(key("story"), 1e-4)}, 1e-3, "exploratory")});
  const RunDifference made = difference(run_with(1e-4), loosened);
  EXPECT_TRUE(made.got_worse());
  EXPECT_THAT(texts(made)[0], HasSubstr("pass -> pass that does not count (exploratory)"));
}

TEST(Difference, ARunThatDidNotEndIsWorse) {
  RunResult killed = run_with(1e-4);
  killed.ended = false;
  EXPECT_TRUE(difference(run_with(1e-4), killed).got_worse());
}

TEST(Difference, SmallMovesAreNone) {
  EXPECT_THAT(texts(difference(run_with(1e-4), run_with(1.2e-4))), IsEmpty());
  EXPECT_THAT(texts(difference(run_with(1e-4), run_with(1.3e-4))), Not(IsEmpty()));
  EXPECT_THAT(texts(difference(run_with(0), run_with(1e-4))), Not(IsEmpty()));
}

// Below the noise floor of the reference against itself a number says nothing.
TEST(Difference, MovesBelowTheNoiseFloorAreNone) {
  const auto moved = [](double from, double to) {
    return texts(difference(with_floor(run_with(from), 5e-5), with_floor(run_with(to), 5e-5)));
  };
  EXPECT_THAT(moved(1e-5, 4e-5), IsEmpty());
  EXPECT_THAT(moved(1e-5, 6e-5), Not(IsEmpty()));
}

TEST(Difference, SaysWhatTheNumbersRestOn) {
  RunResult now = run_with(1e-4);
  now.info.code_sha256 = std::string(64, 'd');
  now.info.ledger_head = std::string(64, 'b');
  now.info.environment["cpu"]["model"] = "another";
  now.experiments[0].spec_sha256 = std::string(64, '6');
  auto& record = std::get<Measurement>(now.experiments[0].comparisons[0].outcome).record;
  record["reference"]["version"] = "5.0";
  const RunDifference made = difference(run_with(1e-4), now);
  EXPECT_FALSE(made.got_worse());
  EXPECT_THAT(
      texts(made),
      ElementsAre("the run: code: cccccccccccc -> dddddddddddd",
                  "the run: ledger head: aaaaaaaaaaaa -> bbbbbbbbbbbb",
                  HasSubstr("the run: processor: "), "EXP-1: spec: 555555555555 -> 666666666666",
                  "EXP-1: reference: transformers 4.57.6 live -> transformers 5.0 live"));
}

TEST(Difference, ToAnotherVerdictOnANewDevice) {
  RunResult now = run_of(
      {experiment("EXP-1", {compared(key("story"), 1e-4), compared(key("story", "cuda"), 2e-3)})});
  EXPECT_TRUE(difference(run_with(1e-4), now).got_worse()) << "not asked for -> fail";
}

}  // namespace
}  // namespace octlm::verify
