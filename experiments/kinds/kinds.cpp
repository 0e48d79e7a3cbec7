#include "experiments/kinds/kinds.h"

#include "experiments/kinds/cached_parity.h"
#include "experiments/kinds/checkpoint_load.h"
#include "experiments/kinds/logit_parity.h"
#include "experiments/kinds/noise_floor.h"
#include "experiments/kinds/template_parity.h"
#include "experiments/kinds/tokenizer_parity.h"

namespace octlm::experiments {

std::vector<verify::Kind> all_kinds(const Environment& environment) {
  return {checkpoint_load(environment),  logit_parity(environment),
          cached_parity(environment),    noise_floor(environment),
          tokenizer_parity(environment), template_parity(environment)};
}

}  // namespace octlm::experiments
