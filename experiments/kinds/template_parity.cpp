#include "experiments/kinds/template_parity.h"

#include "experiments/kinds/prompt_files.h"
#include "experiments/kinds/text_parity.h"

namespace octlm::experiments {

verify::Kind template_parity(const Environment& environment) {
  return {.name = "template_parity",
          .summary = "the rendered text of chats and its ids, against Transformers",
          .metrics = {"ids_equal@1", "text_equal@1", "control_ids_from_text@1"},
          .faults = {},
          .parts = {"model", "reference", "subject", "cases"},
          .read =
              [&environment](const verify::Spec& spec) {
                return make_text_parity(spec, read_chat_cases(spec), environment);
              },
          .files = files_of_cases};
}

}  // namespace octlm::experiments
