// What several renderings say of a run beyond its verdicts, worked out in one place from the result
// model. Nothing here decides anything: what holds is asked of criteria.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "verify/criteria.h"
#include "verify/result.h"

namespace octlm::verify {

enum class ComparisonState {
  kHeld,       // every criterion that judges it holds
  kBroke,      // one does not
  kError,      // it could not be made to an end
  kNotRun,     // it did not take place
  kNoVerdict,  // measured, but nothing judges it: the run did not get so far
};

struct Judged {
  ComparisonState state = ComparisonState::kNotRun;
  // kBroke: the first criterion that does not hold. kHeld: the one of which most of the bound was
  // used, an upper bound before a lower one (an exact "at least" is always used up).
  const CriterionResult* by = nullptr;
  std::optional<double> used = {};
};
Judged judged(const ExperimentResult& experiment, const ComparisonResult& comparison);

// Does a pass of it count as one of the suite? Where no ledger is kept, each does.
bool counts(const RunResult& run, const ExperimentResult& experiment);

// The reference against itself: its comparisons bound nobody's engine.
bool is_noise_floor(const ExperimentResult& experiment);
// A comparison between two engines, and not of one with itself or of a file.
bool is_parity(const ExperimentResult& experiment);

// How far the reference differs from itself on this model: the worst over the run's own noise
// floor.
struct NoiseFloor {
  double value = 0;
  std::int64_t comparisons = 0;
};
std::optional<NoiseFloor> noise_floor(const RunResult& run, const std::string& model,
                                      const std::string& device, const std::string& metric);

// The comparison that came nearest to its bound and held.
struct Tightest {
  const ExperimentResult* experiment = nullptr;
  const ComparisonResult* comparison = nullptr;
  const CriterionResult* criterion = nullptr;
  double used = 0;
};
std::optional<Tightest> tightest_spot(const RunResult& run);

// What one side of a comparison says of itself.
struct Side {
  std::string engine, version, source;
  bool known() const { return !engine.empty(); }
};
Side side_of(const ComparisonResult& comparison, const char* which);  // "subject", "reference"

// "an engine 4.57.6 (live)", each one once, in order of appearance.
std::vector<std::string> references_of(const RunResult& run);
std::vector<std::string> references_of(const ExperimentResult& experiment);
// The engines under test, "an engine 0.1.0", of every experiment that has one.
std::vector<std::string> subjects_of(const RunResult& run);
std::vector<std::string> subjects_of(const ExperimentResult& experiment);

// The first position whose error exceeds the bound that was broken, where the record tells; else
// the position of the largest error.
std::optional<std::int64_t> first_bad_position(const ComparisonResult& comparison,
                                               const CriterionResult* by);

}  // namespace octlm::verify
