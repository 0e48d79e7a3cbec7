// The ids of cases that give a text or a chat: by our tokenizer and template, from the checkpoint's
// own files. Ids that the spec gives as well win, and must be the same.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "experiments/kinds/spec_parts.h"
#include "formats/error.h"
#include "model/tokenizer/tokenizer.h"
#include "verify/kind.h"

namespace octlm::experiments {

// Fills in token_ids and ids_from. A text's mode is literal unless it says native; a chat is
// rendered. Without a tokenizer.json in the folder given ids stay as they are, and a case without
// any is NotRun. Throws formats::FormatError when the spec's ids are not those of its text or chat,
// when a chat's rendering is not the text beside it, and when a text is refused.
// `tokenizer`, when given, receives the one that was needed, if any. Takes cases as they were read:
// not those that it filled before.
std::optional<verify::NotRun> fill_token_ids(std::vector<TokenCase>& cases,
                                             const std::filesystem::path& folder,
                                             std::optional<model::Tokenizer>* tokenizer = nullptr);

}  // namespace octlm::experiments
