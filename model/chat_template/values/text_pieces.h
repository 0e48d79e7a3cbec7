// Cutting texts up and putting them together. Searching takes time linear in the text, or is
// charged for more.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "model/chat_template/runtime.h"

namespace octlm::model::jinja {

inline constexpr std::int64_t kAll = std::numeric_limits<std::int64_t>::max();

// Bytes [begin, end) of a text.
struct Cut {
  std::size_t begin;
  std::size_t end;
};

// Byte positions, npos when `part` is not there.
std::size_t find_first(std::string_view bytes, std::string_view part, std::size_t from = 0);
std::size_t find_last(Runtime& runtime, std::string_view bytes, std::string_view part);

// At most `limit` times, from the left or from the right. REQUIRES: a separator of at least one
// byte.
std::vector<Cut> split_at(Runtime& runtime, const std::string& bytes, const std::string& separator,
                          std::int64_t limit);
std::vector<Cut> split_at_last(Runtime& runtime, const std::string& bytes,
                               const std::string& separator, std::int64_t limit);
std::vector<Cut> split_at_space(Runtime& runtime, const std::string& bytes, std::int64_t limit);

// Without the characters of `chars` at its ends; without white space when nullptr.
Text stripped(Runtime& runtime, const Text& text, const Text* chars, bool left, bool right);
// count < 0: all of them.
Text replaced(Runtime& runtime, const Text& text, const Text& old, const Text& by,
              std::int64_t count);
// & < > ' " as HTML's character references, each by who wrote the character: markupsafe.escape.
Text escaped(Runtime& runtime, const Text& text);
Text joined(Runtime& runtime, const Text& separator, const std::vector<Text>& pieces);
std::vector<Text> split_lines(Runtime& runtime, const Text& text, bool keep_ends);

}  // namespace octlm::model::jinja
