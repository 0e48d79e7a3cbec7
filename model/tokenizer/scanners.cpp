#include "model/tokenizer/scanners.h"

#include "formats/utf8.h"
#include "model/tokenizer/unicode_classes.h"

namespace octlm::model {
namespace {

constexpr std::uint8_t kSpace = CharClass::kSpace, kLetter = CharClass::kLetter,
                       kNumber = CharClass::kNumber, kNewline = CharClass::kNewline,
                       kDigit = CharClass::kDigit;
// [^\s\p{L}\p{N}] has none of these.
constexpr std::uint8_t kNotOther = kSpace | kLetter | kNumber;

struct Character {
  std::uint8_t classes = kSpace;  // at the end of the text: nothing that any run goes on with
  std::uint32_t bytes = 0;
};

inline Character character_at(const char* at, const char* end, const UnicodeClasses& unicode) {
  if (at == end) return {kNotOther, 0};
  const formats::CodePoint c = formats::code_point_at(at);
  return {unicode.of(c.value), c.bytes};
}

bool is_letter(std::uint8_t classes) { return (classes & kNotOther) == kLetter; }
bool is_other(std::uint8_t classes) { return (classes & kNotOther) == 0; }

template <typename Belongs>
inline const char* run_end(const char* at, const char* end, const UnicodeClasses& unicode,
                           Belongs belongs) {
  while (at != end) {
    const formats::CodePoint c = formats::code_point_at(at);
    if (!belongs(unicode.of(c.value))) break;
    at += c.bytes;
  }
  return at;
}

const char* letters(const char* at, const char* end, const UnicodeClasses& unicode) {
  return run_end(at, end, unicode, [](std::uint8_t c) { return (c & kLetter) != 0; });
}
const char* others(const char* at, const char* end, const UnicodeClasses& unicode) {
  return run_end(at, end, unicode, is_other);
}

// \s+(?!\S)|\s+ on the white space [at, run): all of it before the end of the text, else all but
// its last character, unless it has only that one.
const char* white_space(const char* at, const char* run, const char* end) {
  if (run == end) return run;
  const char* last = run - 1;
  while ((static_cast<unsigned char>(*last) & 0xc0) == 0x80) --last;
  return last == at ? run : last;
}

// Bytes of 's 't 're 've 'm 'll 'd at an apostrophe, or 0. Without case, U+017F is an s too.
template <bool kCaseless>
std::size_t contraction(const char* at, const char* end) {
  const auto left = static_cast<std::size_t>(end - at);
  const auto letter = [at](std::size_t i) {
    const char c = at[i];
    return kCaseless && c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  };
  if (left < 2) return 0;
  const char first = letter(1);
  if (first == 's' || first == 't' || first == 'm' || first == 'd') return 2;
  if (left < 3) return 0;
  const char second = letter(2);
  if ((first == 'r' || first == 'v') && second == 'e') return 3;
  if (first == 'l' && second == 'l') return 3;
  if (kCaseless && at[1] == '\xc5' && at[2] == '\xbf') return 3;
  return 0;
}

// (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,kNumbers}| ?[^\s\p{L}\p{N}]+[\r\n]*
//   |\s*[\r\n]+|\s+(?!\S)|\s+
template <int kNumbers>
const char* scan_cl100k(const char* at, const char* end) {
  const UnicodeClasses& unicode = UnicodeClasses::get();
  const Character first = character_at(at, end, unicode);
  if ((first.classes & kLetter) != 0) return letters(at + first.bytes, end, unicode);
  if (*at == '\'') {
    if (const std::size_t bytes = contraction<true>(at, end)) return at + bytes;
  }
  const char* next = at + first.bytes;
  if ((first.classes & kNumber) != 0) {
    for (int i = 1; i < kNumbers; ++i) {
      const Character c = character_at(next, end, unicode);
      if (next == end || (c.classes & kNumber) == 0) break;
      next += c.bytes;
    }
    return next;
  }
  const Character second = character_at(next, end, unicode);
  if ((first.classes & kNewline) == 0 && is_letter(second.classes)) {
    return letters(next + second.bytes, end, unicode);
  }
  if (is_other(first.classes) || (*at == ' ' && is_other(second.classes))) {
    const char* tail = others(next, end, unicode);
    while (tail != end && (*tail == '\r' || *tail == '\n')) ++tail;
    return tail;
  }
  const char* after_newline = nullptr;
  const char* run = at;
  while (run != end) {
    const formats::CodePoint c = formats::code_point_at(run);
    const std::uint8_t classes = unicode.of(c.value);
    if ((classes & kSpace) == 0) break;
    run += c.bytes;
    if ((classes & kNewline) != 0) after_newline = run;
  }
  return after_newline != nullptr ? after_newline : white_space(at, run, end);
}

}  // namespace

const char* scan_gpt2(const char* at, const char* end) {
  const UnicodeClasses& unicode = UnicodeClasses::get();
  if (*at == '\'') {
    if (const std::size_t bytes = contraction<false>(at, end)) return at + bytes;
  }
  const char* begin = *at == ' ' && end - at > 1 ? at + 1 : at;
  const Character first = character_at(begin, end, unicode);
  const char* next = begin + first.bytes;
  if ((first.classes & kLetter) != 0) return letters(next, end, unicode);
  if ((first.classes & kNumber) != 0) {
    return run_end(next, end, unicode, [](std::uint8_t c) { return (c & kNumber) != 0; });
  }
  if (is_other(first.classes)) return others(next, end, unicode);
  const char* run = run_end(at, end, unicode, [](std::uint8_t c) { return (c & kSpace) != 0; });
  return white_space(at, run, end);
}

const char* scan_individual_digits(const char* at, const char* end) {
  const UnicodeClasses& unicode = UnicodeClasses::get();
  const Character first = character_at(at, end, unicode);
  if ((first.classes & kDigit) != 0) return at + first.bytes;
  return run_end(at, end, unicode, [](std::uint8_t c) { return (c & kDigit) == 0; });
}

const char* scan_contiguous_digits(const char* at, const char* end) {
  const UnicodeClasses& unicode = UnicodeClasses::get();
  const bool digits = (character_at(at, end, unicode).classes & kDigit) != 0;
  return run_end(at, end, unicode,
                 [digits](std::uint8_t c) { return ((c & kDigit) != 0) == digits; });
}

Scanner known_scanner(std::string_view expression) {
  if (expression == kGpt2Expression) return scan_gpt2;
  constexpr std::string_view kBeforeNumber =
      R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N})";
  constexpr std::string_view kAfterNumber =
      R"(| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
  if (!expression.starts_with(kBeforeNumber) || !expression.ends_with(kAfterNumber)) return nullptr;
  if (expression.size() < kBeforeNumber.size() + kAfterNumber.size()) return nullptr;
  expression.remove_prefix(kBeforeNumber.size());
  expression.remove_suffix(kAfterNumber.size());
  if (expression.empty()) return scan_cl100k<1>;     // Qwen2, Qwen3
  if (expression == "{1,3}") return scan_cl100k<3>;  // Llama 3
  return nullptr;
}

}  // namespace octlm::model
