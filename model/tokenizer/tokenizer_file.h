// tokenizer.json, read strictly: what is not implemented is refused by name, with the file and the
// place in it. docs/tokenizer.md lists what is.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "model/tokenizer/added_tokens.h"
#include "model/tokenizer/bpe.h"
#include "model/tokenizer/pre_tokenizer.h"
#include "model/tokenizer/vocabulary.h"

namespace octlm::model {

struct TokenizerFile {
  Vocabulary vocabulary;
  std::vector<Merge> merges;
  bool ignore_merges = false;
  std::vector<AddedToken> added_tokens;
  bool normalizes_nfc = false;
  PreTokenizer pre_tokenizer;
  // What the post-processor puts around a single text when asked to add special tokens.
  std::vector<TokenId> template_prefix, template_suffix;
};

// Throws std::runtime_error.
TokenizerFile read_tokenizer_file(const std::filesystem::path& path);

}  // namespace octlm::model
