// noise_floor: how far does the reference differ from itself? Transformers with other settings
// (attention, path, threads) against Transformers as the spec's `reference` sets it, in one full
// pass. A bound on anybody's engine that lies below this would mean nothing.
//
//   "parameters": {"devices": ["cpu"], "variants": [
//     {"name": "sdpa", "attention": "sdpa", "path": "full", "threads": 0}, ...]}
//
// threads 0: as many as the reference has.
// A comparison's path is its variant's name. Needs the live reference: a recording has no variants.
#pragma once

#include "verify/kind.h"

namespace octlm::experiments {

verify::Kind noise_floor();

}  // namespace octlm::experiments
