// logit_parity: does the subject compute the reference's logits at every position of every case, on
// every path? The reference always takes the whole sequence in one pass without a cache.
#pragma once

#include "verify/kind.h"

namespace octlm::experiments {

verify::Kind logit_parity();

}  // namespace octlm::experiments
