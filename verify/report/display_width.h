// How many columns of a terminal a text takes, and texts cut to so many.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace octlm::verify {

// East Asian wide characters and emoji take two, combining marks none (Unicode 15, annex 11), and a
// byte that is not UTF-8 one. Where terminals disagree this is the larger number.
std::size_t display_width(std::string_view text);

// The whole characters at its beginning that fit into `columns`.
std::string cut_to_width(std::string_view text, std::size_t columns);

// The text where it fits; else its beginning and its end with one "…" between them: names differ at
// either.
std::string shortened_to_width(std::string_view text, std::size_t columns);

}  // namespace octlm::verify
