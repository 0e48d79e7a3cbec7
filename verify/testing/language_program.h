// A program with words of its own for everything, for tests that want to see them: those of a
// language model, which nothing in verify knows.
#pragma once

#include "verify/program.h"

namespace octlm::verify::testing {

inline Program language_program() {
  return {.name = "octlm",
          .launcher = "./octlm",
          .devices = {"cpu", "cuda"},
          .precisions = {{"float32", {"float32"}, false}, {"16 bits", {"bfloat16", "float16"}}},
          .paths = {"full", "cached:half", "cached:every", "chunked"},
          .whole_path = "full",
          .divided_hypothesis = "the full pass holds and a split one does not",
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
}

}  // namespace octlm::verify::testing
