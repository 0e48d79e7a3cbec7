// What the files beside tokenizer.json say of tokens: tokenizer_config.json (added_tokens_decoder,
// bos_token and the other named ones, additional_special_tokens, extra_special_tokens),
// special_tokens_map.json and added_tokens.json, and the defaults of the tokenizer's class. Read as
// Transformers 4.57.6 reads them (tokenization_utils_base.py, _from_pretrained;
// tokenization_utils_fast.py, PreTrainedTokenizerFast.__init__), or refused by name
// (microsoft/onnxruntime-extensions#890, huggingface/tokenizers#1422).
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/tokenizer/tokenizer_file.h"

namespace octlm::model {

// A token as one of these files states it.
struct StatedToken {
  std::string content;
  bool is_text = false;  // a plain string, without flags
  bool single_word = false;
  bool lstrip = false;
  bool rstrip = false;
  std::optional<bool> normalized;  // absent: when it is not special
  bool special = false;
  bool is_mapped = false;  // with flags, from special_tokens_map.json

  friend bool operator==(const StatedToken&, const StatedToken&) = default;
};

struct NamedSpecialToken {
  std::string name;                 // "eos_token", or a name of extra_special_tokens
  std::vector<StatedToken> tokens;  // one, or several of additional_special_tokens
  bool is_list = false;
  bool takes_flags = false;      // of the added token of its content, where there is one
  bool flagged_if_text = false;  // its class then makes a token without strips of it
};

struct TokenizerConfig {
  // In the order of Transformers' special_tokens_map, those that are set.
  std::vector<NamedSpecialToken> special_tokens;
  // Index -> token. The index gives the order, not the id.
  std::map<std::int64_t, StatedToken> added_tokens_decoder;
  // tokenizer_config.json has no added_tokens_decoder: tokenizer.json's own stand in for it.
  bool legacy = false;
  // In old files: Transformers takes a named token of this content for the last of
  // added_tokens.json, because of a variable that it uses twice.
  std::optional<std::pair<std::string, StatedToken>> mistaken;
  // Of a ByteLevel that is the whole pre_tokenizer; nothing when the class leaves it alone.
  std::optional<bool> add_prefix_space;
  // The class does not set pad_token and no file does: tokenizer.json's padding then names it.
  bool padding_names_pad_token = false;
};

// Nothing when the folder has neither tokenizer_config.json nor config.json. Throws
// std::runtime_error with file and field.
std::optional<TokenizerConfig> read_tokenizer_config(const std::filesystem::path& folder);

// Changes the tokens of a file that was read, in place. Throws std::runtime_error.
void apply(const TokenizerConfig& config, TokenizerFile& file);

}  // namespace octlm::model
