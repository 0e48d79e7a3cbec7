// The escapes of a string in a template: Python's "unicode-escape".
#pragma once

#include <string>
#include <string_view>

namespace octlm::model::jinja {

struct StringLiteral {
  std::string text;
  std::string mistake;       // empty when all is well
  bool unsupported = false;  // Jinja would take it
};

// `inside`: what stands between the quotes.
StringLiteral resolve_escapes(std::string_view inside);

}  // namespace octlm::model::jinja
