// What Hugging Face's tokenizers library believes about a code point. It mixes Unicode
// versions: 16.0 in its regex engine (Oniguruma 6.9.10) and for word characters, 17.0 in Digits
// (Rust's char). The tables were asked of the library itself, see make_unicode_tables.py; what
// PCRE2 and utf8proc of this machine believe does not matter here.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace octlm::model {

// General categories, two letters each, in the order of the generated table.
inline constexpr std::string_view kCategoryNames =
    "CnLuLlLtLmLoMnMcMeNdNlNoPcPdPsPePiPfPoSmScSkSoZsZlZpCcCfCo";

// All that the pre-tokenizers ask, in one byte per code point. kSpace, kLetter, kNumber exclude
// each other.
struct CharClass {
  static constexpr std::uint8_t kSpace = 1;    // \s
  static constexpr std::uint8_t kLetter = 2;   // \p{L}
  static constexpr std::uint8_t kNumber = 4;   // \p{N}
  static constexpr std::uint8_t kNewline = 8;  // \r, \n (and kSpace)
  static constexpr std::uint8_t kDigit = 16;   // Digits takes it for one
  static constexpr std::uint8_t kWord = 32;    // a word character for single_word
};

class UnicodeClasses {
 public:
  static const UnicodeClasses& get();

  // REQUIRES: c < 0x110000.
  std::uint8_t of(std::uint32_t c) const {
    return pages_[std::size_t{page_[c >> 8]} << 8 | (c & 0xff)];
  }

  // First and last code points of the ranges of a category such as "Lu", or of a group such as "L";
  // empty for a name that is neither.
  static std::vector<std::pair<std::uint32_t, std::uint32_t>> ranges(std::string_view category);
  static std::span<const std::uint32_t> spaces();  // first, last, first, last, ...

 private:
  UnicodeClasses();

  std::array<std::uint8_t, 0x1100> page_{};
  std::vector<std::uint8_t> pages_;
};

}  // namespace octlm::model
