// Words beside the numbers of a record.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>

#include "model/tokenizer/tokenizer.h"

namespace octlm::experiments {

// To a `worst` of logits over `ids` (docs/results.md): `text` of its token and of both top-5 lists,
// and `context`, what the ids up to its position end with. Leaves what is not as expected as it is.
void add_token_text(nlohmann::json& worst, std::span<const std::int32_t> ids,
                    const model::Tokenizer& tokenizer);

}  // namespace octlm::experiments
