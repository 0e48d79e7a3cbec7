#include "reference/process/command_words.h"

#include <stdexcept>

namespace octlm::reference {
namespace {

[[noreturn]] void refuse(std::string_view text, const std::string& what) {
  throw std::invalid_argument("[command] " + std::string(text) + ": " + what);
}

// Appends the quoted text that opens at `at` and returns where it closes.
std::size_t quoted(std::string_view text, std::size_t at, std::string& word) {
  const char quote = text[at];
  while (++at < text.size()) {
    if (text[at] == quote) return at;
    const bool escape = quote == '"' && text[at] == '\\' && at + 1 < text.size() &&
                        std::string_view("\"\\$`").find(text[at + 1]) != std::string_view::npos;
    word += text[escape ? ++at : at];
  }
  refuse(text, std::string("the quote ") + quote + " is not closed");
}

}  // namespace

std::vector<std::string> command_words(std::string_view text) {
  std::vector<std::string> words;
  bool inside = false;
  const auto word = [&]() -> std::string& {
    if (!inside) words.emplace_back();
    inside = true;
    return words.back();
  };
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == ' ' || c == '\t') {
      inside = false;
    } else if (c == '\'' || c == '"') {
      at = quoted(text, at, word());
    } else if (c == '\\') {
      if (++at == text.size()) refuse(text, "nothing follows the last backslash");
      word() += text[at];
    } else if (c == '\0' || std::string_view("|&;<>()$`\n\r").find(c) != std::string_view::npos) {
      refuse(text, std::string("there is no shell to honour \"") + (c < ' ' ? '?' : c) +
                       "\"; quote it, or put the command into a script");
    } else {
      word() += c;
    }
  }
  if (words.empty() || words.front().empty()) refuse(text, "no program is named");
  return words;
}

}  // namespace octlm::reference
