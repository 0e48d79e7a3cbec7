// The only place that decides. The same rules for every kind (docs/results.md):
//   - A criterion holds when it holds in every comparison that took place and that its `when`
//     matches. A comparison that lacks the metric, or has NaN or infinity there, does not hold it.
//     A bool or a number that the bound cannot be held against does not hold it.
//   - Implicit: finite@1, where measured, must be true, and no measured metric may be NaN or
//     infinite.
//   - A device's verdict, the first that applies: fail (a criterion does not hold) · error (a
//     comparison broke, or lacks a metric of also_record, or has a bound that a subject without any
//     knowledge would keep: MetricDefinition::of_nothing) · not_run (no comparison took place; or
//     one is missing that needs something absent here; or a criterion had no comparison to judge) ·
//     pass. Fail comes before error as exit code 1 comes before 4: what is known to be wrong is
//     said first.
//   - A device that would pass, and that failed before with the same spec and code, fails: nothing
//     was changed that could have mended it.
//   - The experiment's verdict is the worst over the devices that ran (fail, error, pass).
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "verify/result.h"
#include "verify/spec.h"

namespace octlm::verify {

// `comparisons` are all that were planned and selected, in order. With none, the verdict is
// not_run.
// `failed_before`: the devices with a failed attempt at the same thing, and which it was, in words.
Judgement judge(const Spec& spec, std::span<const ComparisonResult> comparisons,
                const std::map<std::string, std::string>& failed_before = {});

// What a criterion says of one comparison alone, for a report that shows each; the verdicts come
// from judge(). nullopt where it does not apply or nothing was compared.
struct OneJudged {
  bool holds = false;
  std::optional<double> used;  // as CriterionResult::used
};
std::optional<OneJudged> judge_one(const CriterionResult& criterion,
                                   const ComparisonResult& comparison);

bool applies(const Criterion& criterion, const ComparisonKey& key);

// Why this plan cannot be judged: a criterion that no planned comparison matches, a comparison that
// no criterion judges, a comparison planned twice. "" when it can. Known before the run, so refused
// before.
std::string plan_problem(const Spec& spec, std::span<const ComparisonKey> plan);

}  // namespace octlm::verify
