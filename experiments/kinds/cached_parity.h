// cached_parity: do all splits of a prompt compute the same function? The subject with itself:
// every path of the spec against one full pass, at several lengths of one sequence.
#pragma once

#include "verify/kind.h"

namespace octlm::experiments {

verify::Kind cached_parity();

}  // namespace octlm::experiments
