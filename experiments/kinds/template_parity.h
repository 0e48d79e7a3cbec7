// template_parity: is every chat rendered as Transformers renders it, with its ids, and without a
// control token that the template did not write? No weights are needed.
#pragma once

#include "verify/kind.h"

namespace octlm::experiments {

verify::Kind template_parity();

}  // namespace octlm::experiments
