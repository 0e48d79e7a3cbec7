#include "verify/report/markup.h"

#include "verify/report/escape.h"

namespace octlm::verify {
namespace {

constexpr std::size_t kNameBytes = 160;
constexpr std::size_t kProseBytes = 1200;

const char* reference(char c) {
  switch (c) {
    case '&':
      return "&amp;";
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '"':
      return "&quot;";
    case '\'':
      return "&#39;";
    default:
      return nullptr;
  }
}

}  // namespace

Markup Markup::escaped(std::string_view text) {
  const std::string shown = for_terminal(text);
  Markup safe;
  safe.text_.reserve(shown.size());
  for (const char c : shown) {
    const char* as = reference(c);
    as == nullptr ? safe.text_ += c : safe.text_ += as;
  }
  return safe;
}

std::string shortened(std::string_view text, std::size_t bytes) {
  if (text.size() <= bytes) return std::string(text);
  std::size_t end = bytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return std::string(text.substr(0, end)) + "…";
}

Markup name_markup(std::string_view text) { return for_markup(shortened(text, kNameBytes)); }

Markup prose_markup(std::string_view text) { return for_markup(shortened(text, kProseBytes)); }

}  // namespace octlm::verify
