// The command that repeats a run or one of its experiments, for pages: verify::Program::repeat.
#pragma once

#include <string>

#include "verify/program.h"

namespace octlm::experiments {

// With every argument of the run that its verdict depends on, from what its record keeps of them
// (`request`): spec, --model, --device, --subject, --reference; and without --out, so that the
// reports go into a folder of their own. A registered experiment is named by its id, any other by
// its file. A subject's command was typed somewhere: where that is not the checkout, the command
// goes there first. "" when the record keeps no arguments.
std::string repeat_text(const verify::Repeat& what);

}  // namespace octlm::experiments
