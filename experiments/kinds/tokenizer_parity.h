// tokenizer_parity: does text become the ids that Hugging Face gives, in the literal and in the
// native mode, do ids become its text, and do rendered chats become both? No weights are needed.
#pragma once

#include "verify/kind.h"

namespace octlm::experiments {

verify::Kind tokenizer_parity();

}  // namespace octlm::experiments
