// What the error of a comparison looks like over its positions, in words: the first thing that an
// engineer asks of a failure, and often half of its answer.
#pragma once

#include <string>
#include <vector>

#include "verify/result.h"

namespace octlm::verify {

// Where the errors lie that exceed `bound`, read from the series alone: "position 0 right, the rest
// wrong", "only after the split at position 21", "one position only (7)", "one column only (12)",
// "growing with position", "everywhere"; more than one may fit. Empty when the record has no series
// or nothing in it exceeds the bound.
std::vector<std::string> error_shape(const Program& program, const ComparisonResult& comparison,
                                     double bound);

// The position at which the subject's second call begins; nullopt when it made one call, or does
// not say.
std::optional<std::int64_t> split_of(const ComparisonResult& comparison);

}  // namespace octlm::verify
