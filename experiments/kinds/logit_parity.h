// logit_parity: does the subject compute the reference's logits at every position of every case, on
// every path? The reference always takes the whole sequence in one pass without a cache.
#pragma once

#include <string>
#include <vector>

#include "experiments/engines/engine_table.h"
#include "verify/kind.h"

namespace octlm::experiments {

// `engines`: the names that a spec may say.
verify::Kind logit_parity(const std::vector<std::string>& engines = engine_names());

}  // namespace octlm::experiments
