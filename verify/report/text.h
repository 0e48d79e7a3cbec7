// Phrases that more than one report uses. None is escaped: a report escapes what it shows.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "verify/result.h"

namespace octlm::verify {

// "pass (host) · not run (device)"; "not run" when there is no device.
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
  std::string experiment;
  std::string what;  // "host: 20 comparisons", "one case, by halves, host, float32"
  std::string reason;
};
std::vector<NotChecked> not_checked(const RunResult& run);

// "2 pass, 1 not run. 60 of 80 planned comparisons were made."
std::string headline(const RunResult& run);

}  // namespace octlm::verify
