// Tokens that are recognised in the text before anything else happens to it, such as <|im_start|>.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "model/rendered_text.h"
#include "model/tokenizer/vocabulary.h"

namespace octlm::model {

struct AddedToken {
  TokenId id = kNoToken;
  std::string content;
  bool single_word = false;  // only where no word character touches it
  bool lstrip = false;       // takes the white space before it along
  bool rstrip = false;       // and after it
  bool normalized = false;   // matches its normalised content in the normalised text
  bool special = false;      // left out by a decoder that skips special tokens

  friend bool operator==(const AddedToken&, const AddedToken&) = default;
};

// Finds one set of them, by leftmost longest match as the aho-corasick crate does, flags as in
// Hugging Face's AddedVocabulary::find_matches.
class AddedTokenSet {
 public:
  struct Found {
    TokenId id = kNoToken;
    std::size_t begin = 0;  // with what lstrip and rstrip took
    std::size_t end = 0;
  };

  // Adds a token that matches `content` (its own, or normalised). False when the content is taken.
  bool add(const AddedToken& token, std::string content);
  // REQUIRES: all are added. Called once.
  void finish();

  bool empty() const { return entries_.empty(); }

  // In order of their contents' places. Overlaps are possible where rstrip took the beginning of a
  // token.
  std::vector<Found> find(std::string_view text) const;
  // Only those whose content the template wrote, every byte of it. What the strip flags take may be
  // the user's: Transformers strips it too.
  std::vector<Found> find(const RenderedText& text) const;

 private:
  struct Entry {
    std::string content;
    AddedToken token;
  };
  const Entry* longest_at(std::string_view text, std::size_t at) const;
  // Matches whose content lies in [begin, end) of text.
  void find_within(std::string_view text, std::size_t begin, std::size_t end, std::size_t& taken,
                   std::vector<Found>& found) const;

  std::vector<Entry> entries_;  // sorted by content
  bool begins_[256] = {};       // with this byte
};

}  // namespace octlm::model
