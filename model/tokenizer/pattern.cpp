#include "model/tokenizer/pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "formats/utf8.h"
#include "model/checkpoint_json.h"
#include "model/tokenizer/unicode_classes.h"

namespace octlm::model {
namespace {

using Ranges = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

std::string hex(std::uint32_t c) {
  constexpr char kHex[] = "0123456789abcdef";
  std::string digits;
  do {
    digits.insert(digits.begin(), kHex[c & 15]);
    c >>= 4;
  } while (c != 0);
  return "\\x{" + digits + "}";
}

Ranges sorted_union(Ranges ranges) {
  std::sort(ranges.begin(), ranges.end());
  Ranges out;
  for (const auto& [first, last] : ranges) {
    if (!out.empty() && first <= out.back().second + 1) {
      out.back().second = std::max(out.back().second, last);
    } else {
      out.emplace_back(first, last);
    }
  }
  return out;
}

// Over all code points; the surrogates, which no text contains, go along.
Ranges complement(const Ranges& ranges) {
  Ranges out;
  std::uint32_t next = 0;
  for (const auto& [first, last] : sorted_union(ranges)) {
    if (first > next) out.emplace_back(next, first - 1);
    next = last + 1;
  }
  if (next < 0x110000) out.emplace_back(next, 0x10ffff);
  return out;
}

// PCRE2 compiles no surrogates in UTF mode.
std::string spelled(const Ranges& ranges) {
  std::string out = "[";
  const auto put = [&out](std::uint32_t first, std::uint32_t last) {
    if (first > last) return;
    out += hex(first);
    if (last > first) out += "-" + hex(last);
  };
  for (const auto& [first, last] : sorted_union(ranges)) {
    put(first, std::min<std::uint32_t>(last, 0xd7ff));
    put(std::max<std::uint32_t>(first, 0xe000), last);
  }
  return out == "[" ? "(?!)" : out + "]";
}

// Recursive descent over the expression; writes the translation as it goes.
class Translator {
 public:
  explicit Translator(std::string_view expression) : text_(expression) {}

  std::string run() {
    alternatives(0, false);
    if (at_ < text_.size()) refuse_here("a ')' too many");
    return out_;
  }

 private:
  [[noreturn]] void refuse_here(const std::string& what) const {
    throw std::runtime_error("the expression " + in_quotes(text_) + " is not supported: at byte " +
                             std::to_string(at_) + ": " + what);
  }

  bool accept(std::string_view token) {
    if (!text_.substr(at_).starts_with(token)) return false;
    at_ += token.size();
    return true;
  }

  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  std::uint32_t character() {
    const formats::CodePoint c = formats::code_point_at(text_.data() + at_);
    at_ += c.bytes;
    return c.value;
  }

  void alternatives(int depth, bool caseless) {
    if (depth > 50) refuse_here("nested too deep");
    while (at_ < text_.size() && peek() != ')') {
      if (accept("|")) {
        out_ += '|';
        last_literal_ = 0;
      } else {
        item(depth, caseless);
      }
    }
    last_literal_ = 0;
  }

  void item(int depth, bool caseless) {
    const char c = peek();
    if (c == '(') {
      if (!group(depth, caseless)) return;
    } else if (c == '[') {
      if (caseless) refuse_here("a class inside (?i:...)");
      ++at_;
      out_ += spelled(character_class(depth));
    } else if (c == '\\') {
      escape(caseless);
    } else if (c == '.') {
      if (caseless) refuse_here("'.' inside (?i:...)");
      ++at_;
      out_ += "[^\\n]";
    } else if (std::string_view("^$*+?{}])").find(c) != std::string_view::npos) {
      refuse_here(std::string("'") + c + "' in this place");
    } else {
      literal(character(), caseless);
    }
    quantifier();
  }

  void literal(std::uint32_t c, bool caseless) {
    if (caseless) {
      // Oniguruma folds some pairs to one character (ss and U+00DF); PCRE2 does not.
      if (c >= 0x80) refuse_here("a character beyond ASCII inside (?i:...)");
      const std::uint32_t lower = c >= 'A' && c <= 'Z' ? c + 32 : c;
      const std::string pair{static_cast<char>(last_literal_), static_cast<char>(lower)};
      for (const char* folded : {"ss", "ff", "fi", "fl", "st"}) {
        if (pair == folded) refuse_here("'" + pair + "' inside (?i:...)");
      }
      last_literal_ = lower;
    }
    out_ += hex(c);
  }

  // False when it was an assertion, which takes no quantifier.
  bool group(int depth, bool caseless) {
    const std::size_t begin = at_;
    last_literal_ = 0;
    const bool assertion = accept("(?=") || accept("(?!");
    bool inner_caseless = caseless;
    if (assertion) {
      out_ += text_.substr(begin, 3);
    } else if (accept("(?i:")) {
      out_ += "(?i:";
      inner_caseless = true;
    } else if (accept("(?:")) {
      out_ += "(?:";
    } else if (text_.substr(at_).starts_with("(?") || text_.substr(at_).starts_with("(*")) {
      refuse_here("the group " + in_quotes(text_.substr(at_, 4)));
    } else {
      ++at_;
      out_ += "(?:";  // nothing asks for what it captured
    }
    alternatives(depth + 1, inner_caseless);
    if (!accept(")")) refuse_here("a ')' is missing");
    out_ += ')';
    if (assertion && std::string_view("?*+{").find(peek()) != std::string_view::npos &&
        at_ < text_.size()) {
      refuse_here("a repeated assertion");
    }
    return !assertion;
  }

  void quantifier() {
    if (at_ >= text_.size()) return;
    const char c = peek();
    if (c == '?' || c == '*' || c == '+') {
      last_literal_ = 0;
      out_ += c;
      ++at_;
      if (peek() == '?' || peek() == '+') out_ += text_[at_++];
    } else if (c == '{') {
      last_literal_ = 0;
      braces();
    } else {
      return;
    }
    if (at_ < text_.size() && std::string_view("?*+{").find(peek()) != std::string_view::npos) {
      refuse_here("a quantifier of a quantifier");
    }
  }

  void braces() {
    ++at_;
    const std::uint32_t least = number();
    std::uint32_t most = least;
    bool open = false;
    if (accept(",")) {
      if (peek() == '}')
        open = true;
      else
        most = number();
    }
    if (!accept("}")) refuse_here("a '}' is missing");
    if (!open && most < least) refuse_here("a range that goes down");
    out_ += "{" + std::to_string(least) + (open ? "," : "," + std::to_string(most)) + "}";
  }

  std::uint32_t number() {
    const std::size_t begin = at_;
    std::uint32_t value = 0;
    while (peek() >= '0' && peek() <= '9') {
      value = value * 10 + static_cast<std::uint32_t>(text_[at_++] - '0');
      if (value > 1000) refuse_here("more than 1000 repetitions");
    }
    if (at_ == begin) refuse_here("a number is missing");
    return value;
  }

  // After the backslash: the code point it stands for, or else a set in `ranges`.
  bool escaped_character(std::uint32_t& c, Ranges& ranges) {
    ++at_;
    if (at_ >= text_.size()) refuse_here("a lone backslash");
    const char kind = peek();
    switch (kind) {
      case 'r':
        return ++at_, c = '\r', true;
      case 'n':
        return ++at_, c = '\n', true;
      case 't':
        return ++at_, c = '\t', true;
      case 'f':
        return ++at_, c = '\f', true;
      case 'v':
        return ++at_, c = '\v', true;
      case 'u':
        return ++at_, c = hex_digits(4, 4), true;
      case 'x':
        ++at_;
        if (accept("{")) {
          c = hex_digits(1, 6);
          if (!accept("}")) refuse_here("a '}' is missing");
        } else {
          c = hex_digits(2, 2);
          if (c >= 0x80) refuse_here("a byte that is not ASCII");
        }
        return true;
      case 's':
        return ++at_, ranges = spaces(), false;
      case 'S':
        return ++at_, ranges = complement(spaces()), false;
      case 'd':
        return ++at_, ranges = UnicodeClasses::ranges("Nd"), false;
      case 'D':
        return ++at_, ranges = complement(UnicodeClasses::ranges("Nd")), false;
      case 'p':
      case 'P':
        return ++at_, ranges = property(kind == 'P'), false;
      default:
        if ((static_cast<unsigned char>(kind) & 0x80) != 0 ||
            std::isalnum(static_cast<unsigned char>(kind)) != 0) {
          refuse_here(std::string("the escape \\") + kind);
        }
        return c = character(), true;
    }
  }

  static Ranges spaces() {
    Ranges out;
    const auto flat = UnicodeClasses::spaces();
    for (std::size_t i = 0; i < flat.size(); i += 2) out.emplace_back(flat[i], flat[i + 1]);
    return out;
  }

  Ranges property(bool negated) {
    if (!accept("{")) refuse_here("a property without braces");
    if (accept("^")) negated = !negated;
    const std::size_t end = text_.find('}', at_);
    if (end == std::string_view::npos) refuse_here("a '}' is missing");
    const std::string_view name = text_.substr(at_, end - at_);
    const Ranges ranges = name.size() <= 2 ? UnicodeClasses::ranges(name) : Ranges();
    if (ranges.empty()) refuse_here("the property " + in_quotes(name));
    at_ = end + 1;
    return negated ? complement(ranges) : ranges;
  }

  std::uint32_t hex_digits(int least, int most) {
    std::uint32_t value = 0;
    int count = 0;
    for (; count < most && std::isxdigit(static_cast<unsigned char>(peek())) != 0; ++count, ++at_) {
      const char c = text_[at_];
      value = value * 16 + static_cast<std::uint32_t>(c <= '9' ? c - '0' : (c | 32) - 'a' + 10);
    }
    if (count < least) refuse_here("hexadecimal digits are missing");
    if (value >= 0x110000 || (value >= 0xd800 && value < 0xe000)) refuse_here("not a character");
    return value;
  }

  void escape(bool caseless) {
    std::uint32_t c = 0;
    Ranges ranges;
    if (escaped_character(c, ranges)) {
      literal(c, caseless);
    } else {
      if (caseless) refuse_here("a class inside (?i:...)");
      last_literal_ = 0;
      out_ += spelled(ranges);
    }
  }

  // After the '['.
  Ranges character_class(int depth) {
    if (depth > 50) refuse_here("nested too deep");
    const bool negated = accept("^");
    if (peek() == ']') refuse_here("an empty class");
    Ranges all;
    while (!accept("]")) {
      if (at_ >= text_.size()) refuse_here("a ']' is missing");
      if (text_.substr(at_).starts_with("&&")) refuse_here("an intersection of classes");
      if (text_.substr(at_).starts_with("[:")) refuse_here("a POSIX class");
      Ranges part;
      if (accept("[")) {
        part = character_class(depth + 1);
      } else {
        std::uint32_t first = 0;
        if (class_character(first, part)) part = {{first, range_end(first)}};
      }
      all.insert(all.end(), part.begin(), part.end());
    }
    return negated ? complement(all) : sorted_union(all);
  }

  bool class_character(std::uint32_t& c, Ranges& ranges) {
    if (peek() == '\\') return escaped_character(c, ranges);
    c = character();
    return true;
  }

  // The last character of a range that begins with `first`, or `first` alone.
  std::uint32_t range_end(std::uint32_t first) {
    if (peek() != '-' || text_.substr(at_).starts_with("-]")) return first;
    if (first == '-') refuse_here("a range from '-'");
    ++at_;
    if (peek() == '[') refuse_here("a range to a class");
    std::uint32_t last = 0;
    Ranges none;
    if (at_ >= text_.size() || !class_character(last, none)) refuse_here("a range to a class");
    if (last < first) refuse_here("a range that goes down");
    return last;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::string out_;
  // Inside (?i:...): the literal that this one directly follows, or 0.
  std::uint32_t last_literal_ = 0;
};

std::string pcre2_message(int error) {
  std::string message(200, '\0');
  const int length = pcre2_get_error_message(error, reinterpret_cast<PCRE2_UCHAR*>(message.data()),
                                             message.size());
  message.resize(length > 0 ? static_cast<std::size_t>(length) : 0);
  return message;
}

}  // namespace

std::string translated_for_pcre2(std::string_view expression) {
  return Translator(expression).run();
}

struct Pattern::Code {
  pcre2_code* code = nullptr;
  ~Code() { pcre2_code_free(code); }
};

Pattern::Pattern() = default;
Pattern::Pattern(Pattern&&) noexcept = default;
Pattern& Pattern::operator=(Pattern&&) noexcept = default;
Pattern::~Pattern() = default;

Pattern Pattern::regex(std::string_view expression) {
  const std::string translated = translated_for_pcre2(expression);
  int error = 0;
  PCRE2_SIZE offset = 0;
  Pattern pattern;
  pattern.code_ = std::make_unique<Code>();
  pattern.code_->code =
      pcre2_compile(reinterpret_cast<PCRE2_SPTR>(translated.data()), translated.size(),
                    PCRE2_UTF | PCRE2_NO_UTF_CHECK, &error, &offset, nullptr);
  if (pattern.code_->code == nullptr) {
    throw std::runtime_error("the expression " + in_quotes(expression) +
                             " does not compile: " + pcre2_message(error));
  }
  std::uint32_t matches_empty = 0;
  pcre2_pattern_info(pattern.code_->code, PCRE2_INFO_MATCHEMPTY, &matches_empty);
  if (matches_empty != 0) {
    throw std::runtime_error("the expression " + in_quotes(expression) +
                             " can match nothing at all");
  }
  // Without it, matching is only slower.
  pcre2_jit_compile(pattern.code_->code, PCRE2_JIT_COMPLETE);
  return pattern;
}

Pattern Pattern::literal(std::string_view text) {
  if (text.empty()) throw std::runtime_error("an empty string to split at");
  Pattern pattern;
  pattern.literal_ = text;
  return pattern;
}

Pattern::Search::Search(const Pattern& pattern, std::string_view text)
    : pattern_(pattern), text_(text) {
  if (!pattern.code_) return;
  constexpr std::size_t kLeastStack = 32 << 10, kMostStack = 16 << 20;
  match_data_ = pcre2_match_data_create(1, nullptr);
  context_ = pcre2_match_context_create(nullptr);
  stack_ = pcre2_jit_stack_create(kLeastStack, kMostStack, nullptr);
  pcre2_jit_stack_assign(static_cast<pcre2_match_context*>(context_), nullptr,
                         static_cast<pcre2_jit_stack*>(stack_));
}

Pattern::Search::~Search() {
  pcre2_jit_stack_free(static_cast<pcre2_jit_stack*>(stack_));
  pcre2_match_context_free(static_cast<pcre2_match_context*>(context_));
  pcre2_match_data_free(static_cast<pcre2_match_data*>(match_data_));
}

bool Pattern::Search::next(std::size_t from, Match& match) {
  if (!pattern_.code_) {
    const std::size_t found = text_.find(pattern_.literal_, from);
    if (found == std::string_view::npos) return false;
    match = {found, found + pattern_.literal_.size()};
    return true;
  }
  auto* data = static_cast<pcre2_match_data*>(match_data_);
  const int result =
      pcre2_match(pattern_.code_->code, reinterpret_cast<PCRE2_SPTR>(text_.data()), text_.size(),
                  from, PCRE2_NO_UTF_CHECK, data, static_cast<pcre2_match_context*>(context_));
  if (result == PCRE2_ERROR_NOMATCH) return false;
  if (result < 0)
    throw std::runtime_error("a Split expression cannot be applied: " + pcre2_message(result));
  const PCRE2_SIZE* offsets = pcre2_get_ovector_pointer(data);
  match = {offsets[0], offsets[1]};
  return true;
}

}  // namespace octlm::model
