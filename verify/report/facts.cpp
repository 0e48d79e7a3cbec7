#include "verify/report/facts.h"

#include <algorithm>
#include <cmath>

#include "verify/lenient_json.h"

namespace octlm::verify {
namespace {

// Upper bounds first, then by how much of the bound was used.
bool tighter(const CriterionResult& one, const std::optional<double>& used,
             const CriterionResult* than, const std::optional<double>& than_used) {
  if (than == nullptr) return true;
  if (used.has_value() != than_used.has_value()) return used.has_value();
  const bool upper = one.bound == Criterion::Bound::kAtMost;
  const bool than_upper = than->bound == Criterion::Bound::kAtMost;
  if (upper != than_upper) return upper;
  return used && *used > *than_used;
}

bool has_engines(const ComparisonResult& comparison) {
  return side_of(comparison, "subject").known() && side_of(comparison, "reference").known();
}

}  // namespace

Judged judged(const ExperimentResult& experiment, const ComparisonResult& comparison) {
  using State = ComparisonState;
  if (comparison.not_run()) return {State::kNotRun};
  if (comparison.broken()) return {State::kError};
  Judged found{State::kNoVerdict};
  for (const CriterionResult& criterion : experiment.judgement.criteria) {
    const auto one = judge_one(criterion, comparison);
    if (!one) continue;
    if (!one->holds) return {State::kBroke, &criterion, one->used};
    if (tighter(criterion, one->used, found.by, found.used)) {
      found = {State::kHeld, &criterion, one->used};
    }
  }
  return found;
}

bool counts(const RunResult& run, const ExperimentResult& experiment) {
  return !run.info.ledger_head || experiment.trust.counts();
}

bool is_noise_floor(const ExperimentResult& experiment) {
  return experiment.role == Role::kNoiseFloor;
}

bool is_parity(const ExperimentResult& experiment) {
  if (is_noise_floor(experiment)) return false;
  for (const ComparisonResult& comparison : experiment.comparisons) {
    if (!comparison.measurement()) continue;
    return has_engines(comparison) &&
           side_of(comparison, "subject").engine != side_of(comparison, "reference").engine;
  }
  return experiment.role == Role::kParity;  // nothing was measured that could say so
}

std::optional<NoiseFloor> noise_floor(const RunResult& run, const std::string& model,
                                      const std::string& device, const std::string& metric) {
  std::optional<NoiseFloor> floor;
  for (const ExperimentResult& experiment : run.experiments) {
    if (!is_noise_floor(experiment) || experiment.model != model) continue;
    for (const ComparisonResult& comparison : experiment.comparisons) {
      const Measurement* measured = comparison.measurement();
      if (!measured || comparison.key.device != device) continue;
      const auto found = measured->metrics.find(metric);
      if (found == measured->metrics.end()) continue;
      const double value = as_number(found->second);
      if (!std::isfinite(value)) continue;
      if (!floor) floor.emplace();
      floor->value = std::max(floor->value, value);
      ++floor->comparisons;
    }
  }
  return floor;
}

std::optional<Tightest> tightest_spot(const RunResult& run) {
  std::optional<Tightest> tightest;
  for (const ExperimentResult& experiment : run.experiments) {
    if (is_noise_floor(experiment)) continue;
    for (const ComparisonResult& comparison : experiment.comparisons) {
      const Judged found = judged(experiment, comparison);
      if (found.state != ComparisonState::kHeld || !found.used) continue;
      const CriterionResult* before = tightest ? tightest->criterion : nullptr;
      const auto before_used = tightest ? std::optional(tightest->used) : std::nullopt;
      if (!tighter(*found.by, found.used, before, before_used)) continue;
      tightest = {&experiment, &comparison, found.by, *found.used};
    }
  }
  return tightest;
}

Side side_of(const ComparisonResult& comparison, const char* which) {
  const Measurement* measured = comparison.measurement();
  if (!measured) return {};
  const auto& side = member(measured->record, which);
  return {string_of(member(side, "engine")), string_of(member(side, "version")),
          string_of(member(side, "source"))};
}

namespace {

void add_once(std::vector<std::string>& names, const std::string& name) {
  if (std::ranges::find(names, name) == names.end()) names.push_back(name);
}

void add_all(std::vector<std::string>& names, const std::vector<std::string>& more) {
  for (const std::string& name : more) add_once(names, name);
}

}  // namespace

std::vector<std::string> references_of(const ExperimentResult& experiment) {
  std::vector<std::string> names;
  if (!is_parity(experiment)) return names;
  for (const ComparisonResult& comparison : experiment.comparisons) {
    const Side side = side_of(comparison, "reference");
    if (!side.known()) continue;
    add_once(names, side.engine + (side.version.empty() ? "" : " " + side.version) +
                        (side.source.empty() ? "" : " (" + side.source + ")"));
  }
  return names;
}

std::vector<std::string> references_of(const RunResult& run) {
  std::vector<std::string> names;
  for (const ExperimentResult& one : run.experiments) add_all(names, references_of(one));
  return names;
}

std::vector<std::string> subjects_of(const ExperimentResult& experiment) {
  std::vector<std::string> names;
  if (is_noise_floor(experiment)) return names;
  for (const ComparisonResult& comparison : experiment.comparisons) {
    const Side side = side_of(comparison, "subject");
    if (side.known()) {
      add_once(names, side.engine + (side.version.empty() ? "" : " " + side.version));
    }
  }
  return names;
}

std::vector<std::string> subjects_of(const RunResult& run) {
  std::vector<std::string> names;
  for (const ExperimentResult& one : run.experiments) add_all(names, subjects_of(one));
  return names;
}

std::optional<std::int64_t> first_bad_position(const ComparisonResult& comparison,
                                               const CriterionResult* by) {
  const Measurement* measured = comparison.measurement();
  if (!measured) return std::nullopt;
  const double* limit = by ? std::get_if<double>(&by->limit) : nullptr;
  const nlohmann::json& rising = member(measured->record, "rising");
  if (limit && by->metric == "max_abs_error@1" && rising.is_array()) {
    for (const nlohmann::json& rise : rising) {
      if (!rise.is_array() || rise.size() != 2) break;
      const auto error = number_of(rise[1]);
      if (error && *error > *limit) return integer_of(rise[0]);
    }
  }
  return integer_of(member(member(measured->record, "worst"), "position"));
}

}  // namespace octlm::verify
