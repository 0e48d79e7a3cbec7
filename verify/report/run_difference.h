// What changed from one run to another: verdicts, comparisons, numbers, and what they rest on.
//
// Only what both runs did can have changed: an experiment on a device, by the same engine under
// test. What one of them did alone is listed as that, and is neither better nor worse: a run of one
// experiment says nothing of the others.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "verify/result.h"

namespace octlm::verify {

struct RunChange {
  enum class Weight {
    kWorse,       // a verdict is worse than it was, or a pass no longer counts
    kBetter,      // a verdict is better than it was
    kOther,       // anything else that differs
    kOnlyBefore,  // the earlier run alone did it
    kOnlyAfter,   // the later run alone did it
  };
  Weight weight = Weight::kOther;
  std::string experiment;  // "EXP-102"; "" of the whole run
  std::string device;      // "" of the whole experiment
  std::string what;        // "pass -> fail: max_abs_error@1 is ..."; of kOnly...: what was done

  std::string where() const;  // "EXP-102 on host", "EXP-102", "the run"
};

struct RunDifference {
  std::vector<RunChange> changes;       // in the order of their weights
  std::int64_t common_experiments = 0;  // with a device that both ran, by one engine
  std::int64_t common_comparisons = 0;  // that took place in both
  bool got_worse() const;
};

// A metric counts as changed when a comparison's value moved by more than this factor and the
// larger one lies above the noise floor of the reference against itself, where either run measured
// it. A count ({agree, of}) and a truth value count as changed when they differ at all.
inline constexpr double kMetricFactor = 1.25;

RunDifference difference(const RunResult& before, const RunResult& after);

// A line each, plain text, not escaped: "EXP-102 on host: pass -> fail", "EXP-103: only in A: pass
// (host)". `before` and `after` name the runs.
std::string change_text(const RunChange& change, const std::string& before = "the earlier run",
                        const std::string& after = "this run");
// "2 worse, 1 better, 3 other changes", "nothing changed; 4 in one run only".
std::string difference_headline(const RunDifference& difference);

}  // namespace octlm::verify
