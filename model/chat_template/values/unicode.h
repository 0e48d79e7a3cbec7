// The few facts about code points that Python's str methods rest on. Texts here are valid UTF-8.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace octlm::model::jinja {

// Bytes of the code point that starts at text[at].
std::size_t length_at(std::string_view text, std::size_t at);
char32_t code_point_at(std::string_view text, std::size_t at);

std::size_t count_code_points(std::string_view text);
// The byte at which code point `index` starts; text.size() for the one past the end.
std::size_t byte_of(std::string_view text, std::size_t index);

// str.isspace, which is also what strip() and split() take for white space.
bool is_space(char32_t code_point);
// What str.splitlines() takes for the end of a line ("\r\n" aside).
bool is_line_end(char32_t code_point);
// str.isprintable: repr() escapes the others.
bool is_printable(char32_t code_point);
// Has a case, or is a modifier that does not end a word: Python's rules for a final sigma.
bool is_cased(char32_t code_point);
bool is_case_ignorable(char32_t code_point);

// str.upper, lower and title of one code point, SpecialCasing.txt included (final sigma aside).
std::string upper(char32_t code_point);
std::string lower(char32_t code_point);
std::string title(char32_t code_point);

// The offset of the first byte that is not UTF-8, or npos.
std::size_t first_invalid_utf8(std::string_view text);

}  // namespace octlm::model::jinja
