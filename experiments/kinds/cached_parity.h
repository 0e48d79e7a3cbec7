// cached_parity: do all splits of a prompt compute the same function? The subject with itself:
// every path of the spec against one full pass, at several lengths of one sequence.
#pragma once

#include <string>
#include <vector>

#include "experiments/engines/engine_table.h"
#include "verify/kind.h"

namespace octlm::experiments {

// `engines`: the names that a spec may say.
verify::Kind cached_parity(const std::vector<std::string>& engines = engine_names());

}  // namespace octlm::experiments
