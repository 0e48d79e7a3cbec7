#include "experiments/kinds/kinds.h"

#include "experiments/kinds/cached_parity.h"
#include "experiments/kinds/checkpoint_load.h"
#include "experiments/kinds/logit_parity.h"
#include "experiments/kinds/noise_floor.h"
#include "experiments/kinds/template_parity.h"
#include "experiments/kinds/tokenizer_parity.h"

namespace octlm::experiments {

std::vector<verify::Kind> all_kinds(const std::vector<std::string>& engines) {
  return {checkpoint_load(),    logit_parity(engines), cached_parity(engines),
          noise_floor(engines), tokenizer_parity(),    template_parity()};
}

}  // namespace octlm::experiments
