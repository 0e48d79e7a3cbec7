// The experiment behind tokenizer_parity and template_parity: each case's texts, ids or chats put
// to both sides. Read from model, reference, subject and cases; on the cpu, where text is.
#pragma once

#include <memory>
#include <vector>

#include "experiments/kinds/text_cases.h"
#include "verify/kind.h"

namespace octlm::experiments {

std::unique_ptr<verify::Experiment> make_text_parity(const verify::Spec& spec,
                                                     std::vector<TextCase> cases);

}  // namespace octlm::experiments
