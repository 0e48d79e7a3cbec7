// The kinds of experiment there are: an explicit list. A new kind is one file pair, a test, and a
// line.
#pragma once

#include <string>
#include <vector>

#include "experiments/engines/engine_table.h"
#include "verify/kind.h"

namespace octlm::experiments {

// A run hands their experiments an Environment as its host (experiments/engines/environment.h).
// `engines`: the names that a spec may say.
std::vector<verify::Kind> all_kinds(const std::vector<std::string>& engines = engine_names());

}  // namespace octlm::experiments
