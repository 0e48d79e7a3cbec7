#include "verify/report/escape.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>

#include "formats/utf8.h"

namespace octlm::verify {
namespace {

// What a terminal or a viewer would act on instead of showing: C0, DEL, C1, line and paragraph
// separators, zero-width and directional marks, byte order mark, language tags; and what is no
// character, such as U+FFFE.
bool acts_on_a_terminal(std::uint32_t c) {
  return c < 0x20 || (c >= 0x7F && c <= 0x9F) || c == 0xAD || c == 0x61C ||
         (c >= 0x200B && c <= 0x200F) || (c >= 0x2028 && c <= 0x202E) ||
         (c >= 0x2060 && c <= 0x206F) || c == 0xFEFF || (c >= 0xE0000 && c <= 0xE0FFF) ||
         (c & 0xFFFE) == 0xFFFE;
}

std::string escaped(std::uint32_t c) {
  if (c == '\n') return "\\n";
  if (c == '\t') return "\\t";
  if (c == '\r') return "\\r";
  char text[16];
  std::snprintf(text, sizeof text, c < 0x80 ? "\\x%02x" : "\\u{%x}", static_cast<unsigned>(c));
  return text;
}

// Every ASCII mark may be written as a character reference, which Markdown takes as plain text and
// which cannot close a code span, a cell or a tag.
std::string reference(char c) { return "&#" + std::to_string(static_cast<int>(c)) + ";"; }

bool is_ascii_word(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// What stands around the run of `text[at]` alike, '\0' at an end of the text.
struct Around {
  char before, after;
};
Around around(std::string_view text, std::size_t at) {
  const std::size_t before = text.find_last_not_of(text[at], at);
  const std::size_t after = text.find_first_not_of(text[at], at);
  return {before == std::string_view::npos ? '\0' : text[before],
          after == std::string_view::npos ? '\0' : text[after]};
}

// Can the mark mean something where it stands? Each link needs a bracket, which is never left as it
// is, so a parenthesis alone is none.
bool is_live(std::string_view text, std::size_t at) {
  const char c = text[at];
  switch (c) {
    case '(':
      return false;
    case ')':  // "1) ..." begins a list
      return text.find_first_not_of("0123456789") == at;
    case '_': {  // emphasis, but not inside a word
      const auto [before, after] = around(text, at);
      return !is_ascii_word(before) || !is_ascii_word(after);
    }
    case '@': {  // a mention, a mail address; not the version of a metric: "finite@1"
      const std::size_t end = std::min(text.find_first_not_of("0123456789", at + 1), text.size());
      const bool ends = end == text.size() || text[end] == ' ' || text[end] == ':';
      return at == 0 || !is_ascii_word(text[at - 1]) || end == at + 1 || !ends;
    }
    case '<':
    case '>': {  // a tag, a link, a quotation; not the operator of "a <= b", "a > b", "a -> b"
      const char before = at == 0 ? '\0' : text[at - 1];
      const char after = at + 1 == text.size() ? '\0' : text[at + 1];
      const bool begins = before == ' ' || (c == '>' && before == '-' && at > 1);
      return !begins || (after != '=' && after != ' ');
    }
    case '\'':
    case '"':  // quote a link's title, and there is no link
      return false;
    case '+':
    case '#': {  // a list or a heading at the start; a reference to an issue
      if (at == 0) return true;
      return c == '#' && at + 1 < text.size() && is_ascii_word(text[at + 1]);
    }
    case '!':  // an image, before a bracket
      return at + 1 < text.size() && text[at + 1] == '[';
    default: {
      constexpr std::string_view kMarks = "\\`*{}[]|&~$";
      return kMarks.find(c) != std::string_view::npos;
    }
  }
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos;
       at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

}  // namespace

std::string for_terminal(std::string_view text) {
  std::string safe;
  for (std::size_t at = 0; at < text.size();) {
    const formats::CodePoint c = formats::checked_code_point(text, at);
    if (c.bytes == 0) {
      char byte[8];
      std::snprintf(byte, sizeof byte, "\\x%02x", static_cast<unsigned char>(text[at]));
      safe += byte;
      ++at;
      continue;
    }
    if (acts_on_a_terminal(c.value)) {
      safe += escaped(c.value);
    } else {
      safe += text.substr(at, c.bytes);
    }
    at += c.bytes;
  }
  return safe;
}

std::string for_terminal_lines(std::string_view text) {
  constexpr std::string_view kLine = "\n  ";
  std::string safe;
  for (std::size_t end = text.find(kLine); end != std::string_view::npos; end = text.find(kLine)) {
    safe.append(for_terminal(text.substr(0, end))).append(kLine);
    text.remove_prefix(end + kLine.size());
  }
  return safe + for_terminal(text);
}

std::string for_markdown(std::string_view text) {
  const std::string shown = for_terminal(text);
  std::string safe;
  for (std::size_t at = 0; at < shown.size(); ++at) {
    is_live(shown, at) ? safe += reference(shown[at]) : safe += shown[at];
  }
  // What renderers turn into links and mentions by themselves.
  replace_all(safe, "://", "&#58;//");
  replace_all(safe, "www.", "www&#46;");
  return safe;
}

}  // namespace octlm::verify
