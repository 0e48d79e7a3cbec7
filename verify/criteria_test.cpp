#include "verify/criteria.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "verify/testing/fake_experiment.h"

namespace octlm::verify {
namespace {

using testing::at_least;
using testing::at_most;
using testing::equals;
using ::testing::HasSubstr;
using testing::key;
using testing::spec_of;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

ComparisonResult measured(MetricValues metrics, const ComparisonKey& where = key("story")) {
  return {where, Measurement{std::move(metrics)}};
}
ComparisonResult skipped(const std::string& why, const std::string& needs,
                         const ComparisonKey& where = key("story")) {
  return {where, NotRun{why, needs}};
}
ComparisonResult broke(const std::string& what, const ComparisonKey& where = key("story")) {
  return {where, Broken{what}};
}

Judgement judged(const Criterion& criterion, const std::vector<ComparisonResult>& comparisons) {
  return judge(spec_of("EXP-1", {criterion}), comparisons);
}
Verdict verdict_of(const Criterion& criterion, const MetricValue& value) {
  return judged(criterion, {measured({{criterion.metric, value}})}).verdict;
}

TEST(Criteria, ABoundJustMetHoldsAndJustExceededDoesNot) {
  const double bound = 1e-3;
  EXPECT_EQ(verdict_of(at_most("m@1", bound), bound), Verdict::kPass);
  EXPECT_EQ(verdict_of(at_most("m@1", bound), std::nextafter(bound, 1)), Verdict::kFail);
  EXPECT_EQ(verdict_of(at_least("m@1", bound), bound), Verdict::kPass);
  EXPECT_EQ(verdict_of(at_least("m@1", bound), std::nextafter(bound, 0)), Verdict::kFail);
  EXPECT_EQ(verdict_of(equals("m@1", bound), bound), Verdict::kPass);
  EXPECT_EQ(verdict_of(equals("m@1", bound), std::nextafter(bound, 0)), Verdict::kFail);
  EXPECT_EQ(verdict_of(equals("m@1", bound), std::nextafter(bound, 1)), Verdict::kFail);
}

TEST(Criteria, EachTypeOfValue) {
  EXPECT_EQ(verdict_of(equals("m@1", true), true), Verdict::kPass);
  EXPECT_EQ(verdict_of(equals("m@1", true), false), Verdict::kFail);
  EXPECT_EQ(verdict_of(equals("m@1", false), false), Verdict::kPass);
  EXPECT_EQ(verdict_of(equals("m@1", 311.0), std::int64_t{311}), Verdict::kPass);
  EXPECT_EQ(verdict_of(equals("m@1", 311.0), std::int64_t{312}), Verdict::kFail);
  EXPECT_EQ(verdict_of(at_least("m@1", 1.0), Agreement{188, 188}), Verdict::kPass);
  EXPECT_EQ(verdict_of(at_least("m@1", 1.0), Agreement{187, 188}), Verdict::kFail);
  EXPECT_EQ(verdict_of(at_least("m@1", 0.0), Agreement{0, 0}), Verdict::kFail);
}

TEST(Criteria, ABoundOfAnotherTypeDoesNotHold) {
  EXPECT_EQ(verdict_of(at_most("m@1", 1.0), true), Verdict::kFail);
  EXPECT_EQ(verdict_of(at_most("m@1", 1.0), false), Verdict::kFail);
  EXPECT_EQ(verdict_of(equals("m@1", 1.0), true), Verdict::kFail);
  EXPECT_EQ(verdict_of(equals("m@1", true), 1.0), Verdict::kFail);
  EXPECT_EQ(verdict_of(equals("m@1", false), 0.0), Verdict::kFail);
}

TEST(Criteria, NothingThatIsNotFiniteHolds) {
  for (const double bad : {kNaN, kInf, -kInf}) {
    EXPECT_EQ(verdict_of(at_most("m@1", 1e300), bad), Verdict::kFail) << bad;
    EXPECT_EQ(verdict_of(at_least("m@1", -1e300), bad), Verdict::kFail) << bad;
    EXPECT_EQ(verdict_of(equals("m@1", bad), bad), Verdict::kFail) << bad;
    EXPECT_EQ(verdict_of(at_most("m@1", bad), 0.0), Verdict::kFail) << bad;  // in the bound
    EXPECT_EQ(verdict_of(at_least("m@1", bad), 0.0), Verdict::kFail) << bad;
  }
}

// One NaN among good values must come out as the worst, whatever its place.
TEST(Criteria, NaNAmongGoodValuesIsTheWorst) {
  for (int at = 0; at < 3; ++at) {
    std::vector<ComparisonResult> comparisons;
    for (int i = 0; i < 3; ++i) {
      comparisons.push_back(measured({{"m@1", i == at ? kNaN : 1e-6}}, key(std::to_string(i))));
    }
    for (const Criterion& criterion : {at_most("m@1", 1), at_least("m@1", 0)}) {
      const Judgement judgement = judged(criterion, comparisons);
      EXPECT_EQ(judgement.verdict, Verdict::kFail);
      EXPECT_TRUE(std::isnan(std::get<double>(*judgement.criteria[0].value)));
      EXPECT_EQ(judgement.criteria[0].where.case_name, std::to_string(at));
    }
  }
}

TEST(Criteria, NonFiniteFailsWhereNoCriterionLooks) {
  const Judgement metric = judged(at_most("m@1", 1), {measured({{"m@1", 0.0}, {"other@1", kNaN}})});
  EXPECT_EQ(metric.verdict, Verdict::kFail);
  ASSERT_EQ(metric.criteria.size(), 2U);
  EXPECT_TRUE(metric.criteria[1].implied);
  EXPECT_EQ(metric.criteria[1].metric, "other@1");
  const Judgement operand =
      judged(at_most("m@1", 1), {measured({{"m@1", 0.0}, {"finite@1", false}})});
  EXPECT_EQ(operand.verdict, Verdict::kFail);
  EXPECT_THAT(operand.reason, HasSubstr("finite@1 is false"));
}

TEST(Criteria, AMetricNeverProducedFails) {
  const Judgement never = judged(at_most("m@1", 1), {measured({{"other@1", 0.0}})});
  EXPECT_EQ(never.verdict, Verdict::kFail);
  EXPECT_FALSE(never.criteria[0].value);
  EXPECT_EQ(never.criteria[0].holds, false);
  EXPECT_THAT(never.reason, HasSubstr("not produced"));
  EXPECT_EQ(judged(at_most("m@1", 1), {measured({})}).verdict, Verdict::kFail);
  // Once is enough.
  EXPECT_EQ(judged(at_most("m@1", 1), {measured({{"m@1", 0.0}}), measured({}, key("b"))}).verdict,
            Verdict::kFail);
}

TEST(Criteria, EveryComparisonCounts) {
  const Judgement judgement = judged(
      at_most("m@1", 1), {measured({{"m@1", 0.5}}, key("a")), measured({{"m@1", 1.5}}, key("b")),
                          measured({{"m@1", 0.7}}, key("c"))});
  EXPECT_EQ(judgement.verdict, Verdict::kFail);
  EXPECT_EQ(judgement.criteria[0].where.case_name, "b");
  EXPECT_EQ(judgement.criteria[0].used, 1.5);
  EXPECT_EQ(judgement.criteria[0].comparisons, 3);
  EXPECT_THAT(judgement.reason, HasSubstr("m@1 is 1.5, at_most 1 in b, full, cpu, float32"));
}

TEST(Criteria, ShareOfTheBoundUsed) {
  const auto used = [](const Criterion& criterion, const MetricValue& value) {
    return judged(criterion, {measured({{"m@1", value}})}).criteria[0].used;
  };
  EXPECT_EQ(used(at_most("m@1", 4), 1.0), 0.25);
  EXPECT_EQ(used(at_least("m@1", 0.5), 1.0), 0.5);
  EXPECT_EQ(used(at_least("m@1", 0.5), Agreement{1, 2}), 1.0);
  EXPECT_EQ(used(equals("m@1", 1.0), 1.0), std::nullopt);
  EXPECT_EQ(used(at_most("m@1", 0), 0.0), std::nullopt);
  EXPECT_EQ(used(at_least("m@1", 1), 0.0), std::nullopt);
  EXPECT_EQ(used(at_most("m@1", 1), kNaN), std::nullopt);
}

TEST(Criteria, WhenLimitsWhatIsJudged) {
  Criterion on_cuda = at_most("m@1", 1);
  on_cuda.when = {{"device", "cuda"}, {"path", "cached:half"}};
  EXPECT_TRUE(applies(on_cuda, key("a", "cuda", "cached:half")));
  EXPECT_FALSE(applies(on_cuda, key("a", "cuda", "full")));
  EXPECT_FALSE(applies(on_cuda, key("a", "cpu", "cached:half")));
  const Spec spec = spec_of("EXP-1", {on_cuda, at_most("m@1", 10)});
  const Judgement judgement =
      judge(spec, std::vector{measured({{"m@1", 5.0}}, key("a", "cpu", "cached:half")),
                              measured({{"m@1", 5.0}}, key("a", "cuda", "cached:half"))});
  EXPECT_EQ(judgement.devices[0].verdict, Verdict::kPass);
  EXPECT_EQ(judgement.devices[1].verdict, Verdict::kFail);
  EXPECT_EQ(judgement.criteria.size(), 3U);
}

// Nothing that compared nothing is green.

TEST(Criteria, ZeroComparisonsIsNotRun) {
  EXPECT_EQ(judged(at_most("m@1", 1), {}).verdict, Verdict::kNotRun);
}

TEST(Criteria, AllNotRunIsNotRunWithTheReasons) {
  const Judgement judgement =
      judged(at_most("m@1", 1), {skipped("no weights: fetch x", "weights", key("a")),
                                 skipped("no weights: fetch x", "weights", key("b"))});
  EXPECT_EQ(judgement.verdict, Verdict::kNotRun);
  EXPECT_EQ(judgement.reason, "no weights: fetch x");
  EXPECT_EQ(judged(at_most("m@1", 1), {skipped("nothing to do", "")}).verdict, Verdict::kNotRun);
}

TEST(Criteria, APartialDeviceIsNoPassWhenSomethingWasAbsent) {
  const auto with = [](const ComparisonResult& second) {
    return judged(at_most("m@1", 1), {measured({{"m@1", 0.5}}, key("a")), second}).verdict;
  };
  EXPECT_EQ(with(skipped("no weights", "weights", key("b"))), Verdict::kNotRun);
  EXPECT_EQ(with(skipped("one token cannot be halved", "", key("b"))), Verdict::kPass);
}

TEST(Criteria, ACriterionThatJudgedNothingIsNoPass) {
  Criterion halves = at_most("m@1", 1);
  halves.when = {{"path", "cached:half"}};
  const Spec spec = spec_of("EXP-1", {at_most("m@1", 1), halves});
  const Judgement judgement =
      judge(spec, std::vector{measured({{"m@1", 0.5}}, key("a")),
                              skipped("nothing to halve", "", key("a", "cpu", "cached:half"))});
  EXPECT_EQ(judgement.verdict, Verdict::kNotRun);
  EXPECT_EQ(judgement.criteria[1].holds, std::nullopt);
  EXPECT_THAT(judgement.reason, HasSubstr("nothing to halve"));
}

TEST(Criteria, ADeviceThatNoCriterionJudgesIsNoPass) {
  EXPECT_EQ(judge(spec_of("EXP-1", {}), std::vector{measured({{"m@1", 0.0}})}).verdict,
            Verdict::kNotRun);
}

TEST(Criteria, ARecordedMetricThatIsMissingIsAnError) {
  Spec spec = spec_of("EXP-1", {at_most("m@1", 1)});
  spec.also_record = {"kl_max@1"};
  EXPECT_EQ(judge(spec, std::vector{measured({{"m@1", 0.0}})}).verdict, Verdict::kError);
}

TEST(Criteria, FailBeforeErrorBeforeNotRunBeforePass) {
  const auto good = measured({{"m@1", 0.5}}, key("a"));
  const auto bad = measured({{"m@1", 1.5}}, key("b"));
  const auto error = broke("crashed", key("c"));
  const auto absent = skipped("no weights", "weights", key("d"));
  const Criterion criterion = at_most("m@1", 1);
  EXPECT_EQ(judged(criterion, {good, absent, error, bad}).verdict, Verdict::kFail);
  EXPECT_EQ(judged(criterion, {good, absent, error}).verdict, Verdict::kError);
  EXPECT_THAT(judged(criterion, {good, absent, error}).reason, HasSubstr("crashed"));
  EXPECT_EQ(judged(criterion, {good, absent}).verdict, Verdict::kNotRun);
  EXPECT_EQ(judged(criterion, {good}).verdict, Verdict::kPass);
  EXPECT_EQ(judged(criterion, {error}).verdict, Verdict::kError);
}

TEST(Criteria, AnExperimentIsTheWorstOverTheDevicesThatRan) {
  const auto cpu = [](double value) { return measured({{"m@1", value}}, key("a", "cpu")); };
  const auto no_cuda = skipped("no GPU", "cuda", key("a", "cuda"));
  const Criterion criterion = at_most("m@1", 1);
  const Judgement judgement = judged(criterion, {cpu(0.5), no_cuda});
  EXPECT_EQ(judgement.verdict, Verdict::kPass);
  EXPECT_EQ(judgement.devices[0].verdict, Verdict::kPass);
  EXPECT_EQ(judgement.devices[1].verdict, Verdict::kNotRun);
  EXPECT_EQ(judgement.reason, "cuda: no GPU");
  EXPECT_EQ(judged(criterion, {cpu(1.5), no_cuda}).verdict, Verdict::kFail);
  EXPECT_EQ(judged(criterion, {cpu(0.5), broke("x", key("a", "cuda"))}).verdict, Verdict::kError);
  EXPECT_EQ(judged(criterion, {cpu(1.5), broke("x", key("a", "cuda"))}).verdict, Verdict::kFail);
}

TEST(PlanProblem, APlanThatCannotBeJudged) {
  const Spec spec = spec_of("EXP-1", {at_most("m@1", 1)});
  EXPECT_EQ(plan_problem(spec, std::vector{key("a"), key("b")}), "");
  EXPECT_THAT(plan_problem(spec, {}), HasSubstr("no comparison"));
  EXPECT_THAT(plan_problem(spec, std::vector{key("a"), key("a")}), HasSubstr("twice"));
  Criterion cuda = at_most("m@1", 1);
  cuda.when = {{"device", "cuda"}};
  EXPECT_THAT(plan_problem(spec_of("EXP-1", {cuda}), std::vector{key("a")}),
              HasSubstr("no criterion judges a, full, cpu"));
  EXPECT_THAT(plan_problem(spec_of("EXP-1", {at_most("m@1", 1), cuda}), std::vector{key("a")}),
              HasSubstr("no comparison is judged by m@1 when device is cuda"));
}

// The reference's rows span 0.2: a subject of constant rows would hold a bound of 0.1.
TEST(Judge, ABoundThatConstantRowsWouldKeepIsNoPass) {
  const auto verdict = [](double bound, double constant) {
    return judged(at_most("max_abs_error@1", bound),
                  {measured({{"max_abs_error@1", 0.0}, {"constant_error@1", constant}})});
  };
  EXPECT_EQ(verdict(0.09, 0.1).verdict, Verdict::kPass);
  EXPECT_EQ(verdict(0.1, 0.1).verdict, Verdict::kError);
  EXPECT_THAT(verdict(0.5, 0.1).reason, HasSubstr("max_abs_error@1 at most 0.5 says nothing here"));
  EXPECT_EQ(verdict(0.0, 0.0).verdict, Verdict::kError);
}

TEST(PlanProblem, AClaimOfEqualityIsBoundedWhereAFaultShows) {
  Spec spec = spec_of("EXP-1", {at_most("error@1", 1), equals("finite@1", true)});
  spec.scales = {{"error@1", 1, {"full"}}, {"lists@1", 1, {"other"}}};
  EXPECT_THAT(plan_problem(spec, std::vector{key("a")}),
              HasSubstr("none bounds the difference of a, full, cpu, float32 where a fault would "
                        "show: it needs error@1 no looser than 1"));
  spec.criteria[0].sees_scale = true;  // as its reader says of a bound that is tight enough
  EXPECT_EQ(plan_problem(spec, std::vector{key("a")}), "");
  ComparisonKey other = key("b");
  other.path = "other";
  EXPECT_THAT(plan_problem(spec, std::vector{key("a"), other}),
              HasSubstr("none bounds the difference of b, other"));
  spec.criteria[0].when = {{"case", "a"}};
  EXPECT_THAT(plan_problem(spec, std::vector{key("a"), key("b")}),
              HasSubstr("none bounds the difference of b, full"));
}

}  // namespace
}  // namespace octlm::verify
