// The kinds of experiment there are: an explicit list. A new kind is one file pair, a test, and a
// line.
#pragma once

#include <vector>

#include "experiments/engines/environment.h"
#include "verify/kind.h"

namespace octlm::experiments {

// REQUIRES: environment outlives the kinds and every experiment they read.
std::vector<verify::Kind> all_kinds(const Environment& environment);

}  // namespace octlm::experiments
