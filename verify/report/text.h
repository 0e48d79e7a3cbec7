// Phrases that more than one report uses. None is escaped: a report escapes what it shows.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "verify/result.h"

namespace octlm::verify {

const char* verdict_words(Verdict verdict);      // "pass", "not run"
const char* bound_sign(Criterion::Bound bound);  // " <= ", " >= ", " = "

// "pass (host) · not run (device)"; "not run" when there is no device. A pass that claims to notice
// planted faults, and was not shown to, says so: "pass (host); teeth not shown".
std::string verdict_text(const ExperimentResult& experiment);

// The criterion to show when there is room for one: the first that does not hold, else the one that
// used most of its bound, else the first. nullptr when there is none.
const CriterionResult* decisive_criterion(const ExperimentResult& experiment);

// "1.049e-04 <= 0.001", "nan: must be finite", "missing"; the metric's name is not in it.
std::string criterion_text(const CriterionResult& criterion);
std::string used_text(const CriterionResult& criterion);  // "10 %", "-"
std::string share_text(double share);                     // "10 %", "0.12 %", "37 times"

// Three digits, and no zeros in the exponent: "1.37e-4".
std::string short_number(double value);

struct SideSeconds {
  std::optional<double> subject, reference;  // absent when no record says
};
SideSeconds side_seconds(const ExperimentResult& experiment);

// "confirmatory, attempt 2, of which 1 failed"; the device of most attempts speaks.
std::string trust_text(const Trust& trust);

// Everything that was planned and did not take place, comparisons of one experiment and device with
// the same reason together.
struct NotChecked {
  std::string experiment;  // "": of no experiment in particular
  std::string what;        // "host: 20 comparisons", "one case, by halves, host, float32"
  std::string reason;
  std::string who() const { return experiment.empty() ? "the run" : experiment; }
};
std::vector<NotChecked> not_checked(const RunResult& run);

// How many comparisons were made, by what they are between: the one count that every report shows.
struct Tally {
  std::int64_t planned = 0;  // of the whole run, and not only of what was reached
  std::int64_t made = 0;
  std::map<Role, std::int64_t> by_role = {};  // of `made`
  // What parity compared that is smaller than a comparison, where its record says: "texts" -> 5000.
  std::map<std::string, std::int64_t> items = {};
};
Tally tally(const RunResult& run);
// "3 against an engine (5,000 texts), 2 of the subject against itself"; "" when none was made.
std::string tally_text(const RunResult& run, const Tally& tally);

// "2 pass, 1 not run. 60 of 80 planned comparisons were made: 58 against ..., 2 of ..."
std::string headline(const RunResult& run);

}  // namespace octlm::verify
