// What changed from one run to another: verdicts, comparisons, numbers, and what they rest on.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "verify/result.h"

namespace octlm::verify {

struct RunChange {
  enum class Weight {
    kWorse,   // a verdict is worse than it was, or a pass is no longer there
    kBetter,  // a verdict is better than it was
    kOther,   // anything else that differs
  };
  Weight weight = Weight::kOther;
  std::string where;  // "EXP-102 on host", "the run"
  std::string what;   // "pass -> fail: max_abs_error@1 is ..."
};

struct RunDifference {
  std::vector<RunChange> changes;       // worse ones first
  std::int64_t common_experiments = 0;  // in both
  std::int64_t common_comparisons = 0;  // that took place in both
  bool got_worse() const;
};

// A metric counts as changed when a comparison's value moved by more than this factor and the
// larger one lies above the noise floor of the reference against itself, where either run measured
// it. A count ({agree, of}) and a truth value count as changed when they differ at all.
inline constexpr double kMetricFactor = 1.25;

RunDifference difference(const RunResult& before, const RunResult& after);

// A line each, plain text, not escaped: "EXP-102 on host: pass -> fail".
std::string change_text(const RunChange& change);
// "2 worse, 1 better, 3 other changes", "nothing changed".
std::string difference_headline(const RunDifference& difference);

}  // namespace octlm::verify
