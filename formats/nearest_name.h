// What a misspelt name was meant to be.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace octlm::formats {

// The known name with the smallest edit distance to `name`, when that is small enough to be a slip
// (at most a third of the length, and one at least); "" otherwise.
std::string nearest_name(std::string_view name, std::span<const std::string_view> known);

// `; did you mean "x"?` or, when nothing is near, `; known: a, b, c`.
std::string suggestion(std::string_view name, std::span<const std::string_view> known);

// The same of names that are std::string.
inline std::string nearest_name(std::string_view name, const std::vector<std::string>& known) {
  return nearest_name(name, std::vector<std::string_view>(known.begin(), known.end()));
}
inline std::string suggestion(std::string_view name, const std::vector<std::string>& known) {
  return suggestion(name, std::vector<std::string_view>(known.begin(), known.end()));
}

}  // namespace octlm::formats
