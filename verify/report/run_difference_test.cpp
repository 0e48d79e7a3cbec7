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
  for (const RunChange& change : difference.changes) all.push_back(change_text(change, "A", "B"));
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

// A run of one experiment says nothing of the others: they are listed, and raise no alarm.
TEST(Difference, WhatOneRunAloneMadeIsListed) {
  const RunResult all = run_of({experiment("EXP-1", {compared(key("story"), 1e-4)}),
                                experiment("EXP-2", {compared(key("story"), 1e-4)}),
                                experiment("EXP-3", {compared(key("story"), 2e-3)})});
  const RunResult one = run_with(1e-4);
  const RunDifference made = difference(all, one);
  EXPECT_THAT(texts(made),
              ElementsAre("EXP-2: only in A: pass (cpu)", "EXP-3: only in A: fail (cpu)"));
  EXPECT_FALSE(made.got_worse());
  EXPECT_EQ(made.common_experiments, 1);
  EXPECT_EQ(difference_headline(made), "nothing changed; 2 in one run only");
  EXPECT_THAT(texts(difference(one, all)),
              ElementsAre("EXP-2: only in B: pass (cpu)", "EXP-3: only in B: fail (cpu)"));
  EXPECT_FALSE(difference(one, all).got_worse());
}

TEST(Difference, SoAreComparisonsDevicesAndEngines) {
  const RunResult two =
      run_of({experiment("EXP-1", {compared(key("a"), 1e-4), compared(key("b"), 1e-4)})});
  const RunResult one = run_of({experiment("EXP-1", {compared(key("a"), 1e-4)})});
  EXPECT_THAT(texts(difference(two, one)),
              ElementsAre("EXP-1 on cpu: only in A: 1 comparison: b, full, cpu, float32"));
  EXPECT_FALSE(difference(two, one).got_worse());

  const RunResult both =
      run_of({experiment("EXP-1", {compared(key("a"), 1e-4), compared(key("a", "cuda"), 2e-3)})});
  EXPECT_THAT(texts(difference(both, one)), ElementsAre("EXP-1 on cuda: only in A: fail (octlm)"));
  EXPECT_THAT(texts(difference(one, both)), ElementsAre("EXP-1 on cuda: only in B: fail (octlm)"));
  EXPECT_FALSE(difference(one, both).got_worse());

  RunResult theirs = run_of({experiment("EXP-1", {compared(key("a"), 2e-3)})});
  std::get<Measurement>(theirs.experiments[0].comparisons[0].outcome).record["subject"]["engine"] =
      "numpy";
  const RunDifference made = difference(one, theirs);
  EXPECT_THAT(texts(made), ElementsAre("EXP-1 on cpu: only in A: pass (octlm)",
                                       "EXP-1 on cpu: only in B: fail (numpy)"));
  EXPECT_EQ(made.common_experiments, 0);
  EXPECT_FALSE(made.got_worse());
}

// What was planned and not run was not made.
TEST(Difference, ADeviceThatWasNotRunIsInOneRunOnly) {
  const RunResult absent =
      run_of({experiment("EXP-1", {{key("story"), NotRun{"no weights", "weights"}}})});
  EXPECT_THAT(texts(difference(run_with(1e-4), absent)),
              ElementsAre("EXP-1 on cpu: only in A: pass (octlm)"));
  EXPECT_THAT(texts(difference(absent, absent)), IsEmpty());
}

// Of lists it is said what is in, what is out, and where they part.
TEST(Difference, OfListsSaysWhatDiffers) {
  RunResult then = run_with(1e-4), now = run_with(1e-4);
  then.info.environment["cpu"]["features"] = {"avx2", "bmi2", "fma"};
  now.info.environment["cpu"]["features"] = {"avx2", "avx512f", "fma"};
  EXPECT_THAT(texts(difference(then, now)),
              ElementsAre("the run: processor features: in: avx512f; out: bmi2; first at 1"));

  const auto lists = [](std::int64_t agree, const nlohmann::json& subject) {
    RunResult run = run_with(1e-4);
    auto& measured = std::get<Measurement>(run.experiments[0].comparisons[0].outcome);
    measured.metrics["ids_equal@1"] = Agreement{agree, 9};
    measured.record["differences"]["ids_equal@1"] = {
        {"index", 4},
        {"position", 12},
        {"subject", subject},
        {"reference",
         {{{"position", 11}, {"token_id", 5}, {"token", "x"}},
          {{"position", 12}, {"token_id", 9}, {"token", "<s>"}}}}};
    return run;
  };
  const nlohmann::json wrong = {{{"position", 11}, {"token_id", 5}, {"token", "x"}},
                                {{"position", 12}, {"token_id", 27}, {"token", "<"}},
                                {{"position", 13}, {"token_id", 82}, {"token", "s"}}};
  EXPECT_THAT(texts(difference(lists(9, wrong), lists(8, wrong))),
              ElementsAre("EXP-1 on cpu: ids_equal@1 changed in 1 comparison; most 9 of 9 -> 8 of "
                          "9 in story, full, cpu, float32; now in list 4, in: 27 '<', 82 's'; "
                          "out: 9 '<s>'; first at 12"));
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
                  HasSubstr("the run: processor model: "),
                  "EXP-1 on cpu: reference: transformers 4.57.6 live -> transformers 5.0 live",
                  "EXP-1: spec: 555555555555 -> 666666666666"));
}

}  // namespace
}  // namespace octlm::verify
