#include "experiments/commands/octlm_program.h"

#include "experiments/commands/repeat_command.h"

namespace octlm::experiments {

const verify::Program& octlm_program() {
  using verify::Role;
  static const verify::Program program = {
      .name = "octlm",
      .launcher = "./octlm",
      .repeat = repeat_text,
      .devices = {"cpu", "cuda"},
      .precisions = {{"float32", {"float32"}, false}, {"16 bits", {"bfloat16", "float16"}}},
      .paths = {"full", "cached:half", "cached:every", "chunked"},
      .whole_path = "full",
      .divided_hypothesis =
          "the full pass holds and a split one does not: the cache, or the "
          "position in decode",
      .needs = {"weights", "reference"},
      .model = "checkpoint",
      .own_subject = "our own decoder",
      .length = "token",
      .context = "after",
      .part = "module",
      .phases = {.title = "prefill or decode",
                 .first = "prefill",
                 .one = "decode",
                 .later = "prefill of a later chunk"},
      .column = "token",
      .column_field = "token_id",
      .column_text_field = "token",
      .roles = {{"noise_floor", Role::kNoiseFloor},
                {"cached_parity", Role::kSelf},
                {"checkpoint_load", Role::kFile}}};
  return program;
}

}  // namespace octlm::experiments
