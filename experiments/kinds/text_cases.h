// The cases of tokenizer_parity and template_parity, read strictly.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "experiments/kinds/prompt_files.h"
#include "experiments/kinds/text_sets.h"
#include "formats/error.h"
#include "verify/spec.h"

namespace octlm::experiments {

// What a case asks. A comparison's path is this word.
//   literal, native  texts to ids, by that mode; and those ids back to text
//   decode           ids to text
//   chat             chats to text and ids
struct TextCase {
  std::string name;
  std::string path;
  std::optional<PromptFile> file;  // of texts or chats
  // One text, a file of texts, texts made by a rule; one list of ids, ids made by a rule; chats.
  std::variant<std::string, std::filesystem::path, TextSet, TokenIds, IdSet,
               std::vector<std::string>>
      source;
  std::optional<std::string> stated_text;  // what a chat is rendered as, where that is known
  TokenIds stated_ids;                     // what the text or the chat becomes; empty: not known
};

// [{"name", "mode": "literal" | "native", "text", "token_ids"?}]
// [{"name", "mode", "texts": {"file"} | {"set", ...}}]
// [{"name", "token_ids"} or {"name", "ids": {"set", ...}}]
// [{"name", "chat": FILE, "thinking"?, "text"?, "token_ids"?}]
// Throws formats::FormatError.
std::vector<TextCase> read_text_cases(const verify::Spec& spec, Prompts prompts = Prompts::kRead);
// Those with a `chat` alone.
std::vector<TextCase> read_chat_cases(const verify::Spec& spec, Prompts prompts = Prompts::kRead);

}  // namespace octlm::experiments
