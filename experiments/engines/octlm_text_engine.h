// Our tokenizer and our chat templates as a TextEngine.
#pragma once

#include <filesystem>
#include <memory>

#include "reference/text_engine.h"

namespace octlm::experiments {

// From `folder`/tokenizer.json and, once a chat is to be rendered, the folder's chat template.
// Throws what model::Tokenizer::load and model::ChatTemplate::load throw.
std::unique_ptr<reference::TextEngine> make_octlm_text_engine(const std::filesystem::path& folder);

}  // namespace octlm::experiments
