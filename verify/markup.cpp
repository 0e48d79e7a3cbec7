#include "verify/markup.h"

#include <array>
#include <algorithm>

#include "verify/escape.h"

namespace octlm::verify {
namespace {

void append_escaped(std::string& html, std::string_view text) {
  for (const char c : for_terminal(text)) {
    switch (c) {
      case '&':
        html += "&amp;";
        break;
      case '<':
        html += "&lt;";
        break;
      case '>':
        html += "&gt;";
        break;
      case '"':
        html += "&quot;";
        break;
      case '\'':
        html += "&#39;";
        break;
      default:
        html += c;
    }
  }
}

bool is_void(std::string_view name) {
  constexpr std::array<std::string_view, 4> kVoid = {"meta", "br", "hr", "wbr"};
  return std::find(kVoid.begin(), kVoid.end(), name) != kVoid.end();
}

}  // namespace

Markup::Markup(std::string_view text) { append_escaped(html_, text); }

Markup tag(const char* name, Attributes attributes, const Markup& content) {
  Markup element;
  std::string& html = element.html_;
  html.reserve(content.size() + 64);
  html += '<';
  html += name;
  for (const auto& [key, value] : attributes) {
    if (value.empty()) continue;
    html += std::string(" ") + key + "=\"";
    append_escaped(html, value);
    html += '"';
  }
  html += '>';
  if (is_void(name)) return element;
  html += content.html_;
  html += "</";
  html += name;
  html += '>';
  return element;
}

Markup style_element(const char* css) {
  Markup element;
  element.html_ = std::string("<style>") + css + "</style>";
  return element;
}

std::string shortened(std::string_view text, std::size_t max_bytes) {
  if (text.size() <= max_bytes) return std::string(text);
  std::size_t end = max_bytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return std::string(text.substr(0, end)) + "… (" + std::to_string(text.size()) + " bytes)";
}

Markup outside(std::string_view text, std::size_t max_bytes) {
  return tag("bdi", Markup(shortened(text, max_bytes)));
}

}  // namespace octlm::verify
