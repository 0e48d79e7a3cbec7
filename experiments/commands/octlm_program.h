// What this program calls things, on pages and in --require: the words of language models, which
// the framework does not have.
#pragma once

#include "verify/program.h"

namespace octlm::experiments {

const verify::Program& octlm_program();

}  // namespace octlm::experiments
