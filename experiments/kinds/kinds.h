// The kinds of experiment there are: an explicit list. A new kind is one file pair, a test, and a
// line.
#pragma once

#include <vector>

#include "verify/kind.h"

namespace octlm::experiments {

// A run hands their experiments an Environment as its host (experiments/engines/environment.h).
std::vector<verify::Kind> all_kinds();

}  // namespace octlm::experiments
