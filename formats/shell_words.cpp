#include "formats/shell_words.h"

#include <algorithm>

#include "formats/quoted.h"

namespace octlm::formats {
namespace {

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

std::string in_ansi_quotes(std::string_view word) {
  std::string quoted = "$'";
  for (const char c : word) {
    if (is_control(c)) {
      quoted += c == '\n' ? "\\n" : "\\x" + hex_byte(static_cast<unsigned char>(c));
    } else {
      if (c == '\'' || c == '\\') quoted += '\\';
      quoted += c;
    }
  }
  return quoted + "'";
}

}  // namespace

std::string posix_quoted(std::string_view word) {
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string shell_quoted(std::string_view word) {
  constexpr const char* kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=,@%+";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string_view::npos)
    return std::string(word);
  return std::ranges::any_of(word, is_control) ? in_ansi_quotes(word) : posix_quoted(word);
}

std::string shell_file(const std::filesystem::path& file) {
  const std::string name = file.string();
  return shell_quoted(name.starts_with('-') ? "./" + name : name);
}

}  // namespace octlm::formats
