// A regular expression of a Split pre-tokenizer. Hugging Face runs it with Oniguruma; here it is
// translated for PCRE2 with every class spelled out from our own tables (unicode_classes.h), so
// that it means the same whatever Unicode version PCRE2 has. Constructs whose meaning differs, or
// that no tokenizer uses, are refused by name when the file is loaded.
//
// Supported: alternation, (...), (?:...), (?i:...) around ASCII, (?=...), (?!...), classes with
// ranges, negation and nested escapes, \p{..} \P{..} of general categories, \s \S \d \D, \r \n \t
// \f \v, \uHHHH, \x{H...}, ".", and the quantifiers ? * + {n} {n,} {n,m}, lazy with ?, possessive
// with + (but not after braces, where Oniguruma reads a second quantifier).
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace octlm::model {

class Pattern {
 public:
  struct Match {
    std::size_t begin = 0;
    std::size_t end = 0;
  };

  // Throws std::runtime_error that says what is not supported, and where in the expression.
  static Pattern regex(std::string_view expression);
  // Matches `text` itself. Throws std::runtime_error when it is empty.
  static Pattern literal(std::string_view text);

  Pattern(Pattern&&) noexcept;
  Pattern& operator=(Pattern&&) noexcept;
  ~Pattern();

  // One pass over a text; not shared between threads.
  class Search {
   public:
    Search(const Pattern& pattern, std::string_view text);
    ~Search();
    Search(const Search&) = delete;
    Search& operator=(const Search&) = delete;

    // The next match from `from` on, never empty; false when there is none. Throws
    // std::runtime_error when the text exceeds PCRE2's limits.
    bool next(std::size_t from, Match& match);

   private:
    const Pattern& pattern_;
    std::string_view text_;
    void* match_data_ = nullptr;
    void* context_ = nullptr;
    void* stack_ = nullptr;
  };

 private:
  struct Code;
  Pattern();

  std::unique_ptr<Code> code_;  // null for a literal
  std::string literal_;
};

// The expression as PCRE2 is given it; for tests.
std::string translated_for_pcre2(std::string_view expression);

}  // namespace octlm::model
