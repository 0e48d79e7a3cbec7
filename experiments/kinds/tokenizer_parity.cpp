#include "experiments/kinds/tokenizer_parity.h"

#include "experiments/kinds/prompt_files.h"
#include "experiments/kinds/text_parity.h"

namespace octlm::experiments {

verify::Kind tokenizer_parity(const Environment& environment) {
  return {.name = "tokenizer_parity",
          .summary = "the ids of texts and chats, and the text of ids, against Hugging Face",
          .metrics = {"ids_equal@1", "text_equal@1", "roundtrip_equal@1", "offsets_equal@1",
                      "control_ids_from_text@1"},
          .faults = {},
          .parts = {"model", "reference", "subject", "cases"},
          .read =
              [&environment](const verify::Spec& spec) {
                return make_text_parity(spec, read_text_cases(spec), environment);
              },
          .files = files_of_cases};
}

}  // namespace octlm::experiments
