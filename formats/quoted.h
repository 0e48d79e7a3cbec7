// Text that came from a file, fit for one line of a message: control and non-ASCII bytes would
// break the line, or a terminal.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace octlm::formats {

inline constexpr std::size_t kMaxQuoted = 120;  // characters of foreign text in one message

// Two lower-case hexadecimal digits.
std::string hex_byte(unsigned char byte);

// Those bytes as \xNN, and "..." for what is past `limit` bytes.
std::string printable(std::string_view text, std::size_t limit = kMaxQuoted);

// printable() in single quotes.
std::string in_quotes(std::string_view text);

// A value as it stands in the file, shortened.
std::string as_found(const nlohmann::json& value);

}  // namespace octlm::formats
