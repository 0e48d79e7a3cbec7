// Text from outside (a model's, a checkpoint's, a user's) inside HTML and XML. The same form serves
// both, as an element's text and as an attribute's value in double quotes.
#pragma once

#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>

namespace octlm::verify {

// Markup in which nothing from outside is left unescaped: it is made of literals and of what the
// functions below made. A std::string does not become one, so that a text that nobody escaped does
// not compile.
class Markup {
 public:
  Markup() = default;
  template <std::size_t n>
  Markup(const char (&literal)[n]) : text_(literal, n - 1) {}
  // No literal: it holds what was written into it.
  template <std::size_t n>
  Markup(char (&buffer)[n]) = delete;

  Markup& operator+=(const Markup& more) {
    text_ += more.text_;
    return *this;
  }
  friend Markup operator+(Markup one, const Markup& more) { return one += more; }
  friend bool operator==(const Markup&, const Markup&) = default;

  const std::string& text() const { return text_; }  // the way out
  bool empty() const { return text_.empty(); }
  std::size_t size() const { return text_.size(); }

  // As for_terminal (control characters, directional marks and bytes that are not UTF-8 are written
  // out), so that nothing is left that XML 1.0 forbids, and & < > " ' as references.
  static Markup escaped(std::string_view text);

 private:
  std::string text_;
};

inline Markup for_markup(std::string_view text) { return Markup::escaped(text); }
Markup number_markup(std::integral auto number) { return for_markup(std::to_string(number)); }

// At most `bytes` of it, cut between code points, "…" where something is missing. Not escaped.
std::string shortened(std::string_view text, std::size_t bytes);

// Both: what a cell of a table shows of a name, and a paragraph of a reason.
Markup name_markup(std::string_view text);
Markup prose_markup(std::string_view text);

}  // namespace octlm::verify
