// The added tokens of a tokenizer while they are collected: first those of tokenizer.json, then
// what the files beside it state. As tokenizers' AddedVocabulary (0.22.2,
// tokenizer/added_vocabulary.rs) keeps them: a token that comes again changes its flags, but what
// is looked for in the text is each statement's own content, normalised or not, and once special
// is special for good.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "model/tokenizer/added_tokens.h"
#include "model/tokenizer/vocabulary.h"

namespace octlm::model {

// What is looked for, and the token that it stands for.
struct AddedPattern {
  TokenId id = kNoToken;
  std::string content;
  bool normalized = false;
};

class AddedVocabulary {
 public:
  // In one call, as given. Ids are of the vocabulary, or the next free ones; those in the tokens
  // are not read. Throws std::runtime_error when ids run out.
  void add(const Vocabulary& vocabulary, std::span<const AddedToken> tokens);

  // Its latest statement; nullptr when there is none.
  const AddedToken* find(std::string_view content) const;

  // By id, with the latest flags; `special` as a decoder takes it.
  std::vector<AddedToken> tokens() const;
  // Each once.
  std::vector<AddedPattern> patterns() const;

 private:
  TokenId id_for(const Vocabulary& vocabulary, const std::string& content) const;

  std::unordered_map<std::string, TokenId> ids_;
  std::map<TokenId, AddedToken> by_id_;
  std::vector<AddedToken> special_, plain_;  // statements to look for
  std::unordered_set<std::string> special_contents_;
};

}  // namespace octlm::model
