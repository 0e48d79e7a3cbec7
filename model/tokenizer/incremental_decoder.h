// Ids to text one at a time, as a model produces them: text comes out as soon as it is certain.
// Bytes that do not yet form a character are held back, so no U+FFFD appears in the middle of one
// that spans tokens (exo-explore/exo#1691, mlc-ai/mlc-llm#1142); all that came out is what
// Tokenizer::decode gives for all ids.
#pragma once

#include <cstdint>
#include <string>

#include "model/tokenizer/tokenizer.h"

namespace octlm::model {

class IncrementalDecoder {
 public:
  explicit IncrementalDecoder(Tokenizer tokenizer, DecodeOptions options = {})
      : tokenizer_(std::move(tokenizer)), options_(options) {}

  // The text that this id makes certain; may be empty.
  std::string push(std::int32_t id);
  // The rest: what is still incomplete becomes one U+FFFD. The decoder is then as new.
  std::string finish();

 private:
  Tokenizer tokenizer_;
  DecodeOptions options_;
  std::string held_;  // the beginning of a character, at most 3 bytes
};

}  // namespace octlm::model
