#include "model/chat_template/syntax/string_literal.h"

#include "formats/utf8.h"
#include "model/chat_template/values/unicode.h"

namespace octlm::model::jinja {
namespace {

int digit_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return 99;
}

// Reads up to `most` digits of `base` at `at`, and moves past them.
char32_t number(std::string_view text, std::size_t& at, int base, int most, int& count) {
  char32_t value = 0;
  for (count = 0; count < most && at < text.size() && digit_value(text[at]) < base; ++count) {
    value = value * static_cast<char32_t>(base) + static_cast<char32_t>(digit_value(text[at++]));
  }
  return value;
}

char simple_escape(char c) {
  switch (c) {
    case 'a':
      return '\a';
    case 'b':
      return '\b';
    case 'f':
      return '\f';
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    case 'v':
      return '\v';
    case '\\':
    case '\'':
    case '"':
      return c;
    default:
      return '\0';
  }
}

}  // namespace

StringLiteral resolve_escapes(std::string_view inside) {
  StringLiteral literal;
  std::string& text = literal.text;
  for (std::size_t at = 0; at < inside.size();) {
    if (inside[at] != '\\') {
      text.push_back(inside[at++]);
      continue;
    }
    const char c = inside[++at];  // the lexer saw to it that there is one
    if (c == '\n') {
      ++at;
    } else if (const char resolved = simple_escape(c)) {
      text.push_back(resolved);
      ++at;
    } else if (c == 'x' || c == 'u' || c == 'U' || (c >= '0' && c <= '7')) {
      const bool octal = c >= '0' && c <= '7';
      if (!octal) ++at;
      const int wanted = octal ? 3 : c == 'x' ? 2 : c == 'u' ? 4 : 8;
      int count = 0;
      const char32_t code_point = number(inside, at, octal ? 8 : 16, wanted, count);
      if (!octal && count < wanted) return {{}, std::string("a cut \\") + c + " escape"};
      if (code_point > 0x10FFFF) return {{}, "an escape beyond Unicode"};
      if (code_point >= 0xD800 && code_point < 0xE000) return {{}, "a surrogate in a string", true};
      formats::append_utf8(text, code_point);
    } else if (c == 'N') {
      return {{}, "a \\N{...} escape", true};
    } else if (static_cast<unsigned char>(c) >= 0x80) {
      return {{}, "a backslash before a character beyond ASCII", true};
    } else {
      text.push_back('\\');  // not an escape: both stay
    }
  }
  return literal;
}

}  // namespace octlm::model::jinja
