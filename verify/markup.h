// HTML and SVG that cannot be written unescaped. Text becomes Markup by being escaped, and Markup
// is put together from Markup only: there is no way to hand it a raw string from outside.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace octlm::verify {

class Markup {
 public:
  Markup() = default;
  // Escaped for element content and quoted attributes alike; what a viewer would act on instead of
  // showing (controls, directional marks, bytes that are not UTF-8) becomes visible, as in
  // for_terminal.
  Markup(std::string_view text);
  Markup(const std::string& text) : Markup(std::string_view(text)) {}
  Markup(const char* text) : Markup(std::string_view(text)) {}

  Markup& operator+=(const Markup& more) {
    html_ += more.html_;
    return *this;
  }
  friend Markup operator+(Markup left, const Markup& right) { return left += right; }

  bool empty() const { return html_.empty(); }
  std::size_t size() const { return html_.size(); }
  const std::string& html() const { return html_; }

 private:
  friend Markup tag(const char*, std::initializer_list<std::pair<const char*, std::string>>,
                    const Markup&);
  friend Markup style_element(const char* css);
  std::string html_;
};

// Names are ours, values are escaped: {{"class", "bad"}, {"title", reason}}. An attribute with an
// empty value is left out, but for `open`, `disabled` and their like, written as {"open", "open"}.
using Attributes = std::initializer_list<std::pair<const char*, std::string>>;

// <name attributes>content</name>; `meta`, `br` and the shapes of SVG need no content.
Markup tag(const char* name, Attributes attributes, const Markup& content = {});
inline Markup tag(const char* name, const Markup& content) { return tag(name, {}, content); }

// A style sheet of ours. REQUIRES that nothing in it came from outside.
Markup style_element(const char* css);

// Text from outside, kept from reordering what stands beside it, and cut at `max_bytes` with a note
// of its length.
Markup outside(std::string_view text, std::size_t max_bytes = 240);

// The first `max_bytes` bytes at most, cut between code points, with "… (10240 bytes)" when cut.
std::string shortened(std::string_view text, std::size_t max_bytes);

}  // namespace octlm::verify
