// tokenizer.json, read strictly: what is not implemented is refused by name, with the file and the
// place in it. docs/tokenizer.md lists what is.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/tokenizer/added_vocabulary.h"
#include "model/tokenizer/bpe.h"
#include "model/tokenizer/pre_tokenizer.h"
#include "model/tokenizer/vocabulary.h"

namespace octlm::model {

struct TokenizerFile {
  Vocabulary vocabulary;
  std::vector<Merge> merges;
  bool ignore_merges = false;
  AddedVocabulary added;
  bool normalizes_nfc = false;
  PreTokenizer pre_tokenizer;
  bool byte_level_alone = false;  // the pre_tokenizer is a ByteLevel, in no Sequence
  // What the post-processor puts around a single text when asked to add special tokens.
  std::vector<TokenId> template_prefix, template_suffix;
  std::optional<std::string> padding_token;  // of `padding`, when it is switched on
};

// Throws std::runtime_error.
TokenizerFile read_tokenizer_file(const std::filesystem::path& path);

}  // namespace octlm::model
