#include "experiments/kinds/kinds.h"

#include "experiments/kinds/cached_parity.h"
#include "experiments/kinds/checkpoint_load.h"
#include "experiments/kinds/logit_parity.h"
#include "experiments/kinds/noise_floor.h"
#include "experiments/kinds/template_parity.h"
#include "experiments/kinds/tokenizer_parity.h"

namespace octlm::experiments {

std::vector<verify::Kind> all_kinds() {
  return {
      checkpoint_load(),   //
      logit_parity(),      //
      cached_parity(),     //
      noise_floor(),       //
      tokenizer_parity(),  //
      template_parity(),
  };
}

}  // namespace octlm::experiments
