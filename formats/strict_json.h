// JSON that comes from outside, parsed so that nothing in it can be lost and nothing in it can
// hurt: without recursion, within stated limits, and one value for one text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "formats/input_file.h"

namespace octlm::formats {

inline constexpr std::int64_t kMaxExactInteger = std::int64_t{1} << 53;

struct JsonLimits {
  std::size_t depth = 64;
  std::size_t values = 16'000'000;  // numbers, names, objects, all of them
  // Integers beyond +-2^53 no other JSON reader would keep; where all readers are ours, the limits
  // of the type may be allowed.
  std::int64_t least_integer = -kMaxExactInteger;
  std::uint64_t greatest_integer = std::uint64_t{1} << 53;
  // Integers beyond the limits are kept, as binary values (which JSON does not have) that hold
  // their digits; more than 308 digits are refused.
  bool digits_beyond = false;
};

// Integers up to 64 bits, those beyond int64 as unsigned ones.
inline constexpr JsonLimits kIntegersOf64Bits{.least_integer = INT64_MIN,
                                              .greatest_integer = UINT64_MAX};

// Parses one JSON value. Throws FormatError "WHERE:LINE:COLUMN: what" for anything RFC 8259 refuses
// and for duplicate keys, text after the value, invalid UTF-8, NUL bytes, a byte order mark,
// numbers that overflow or underflow a double, and what is beyond the limits. Columns count bytes.
nlohmann::json parse_strict(std::string_view text, const std::string& where,
                            const JsonLimits& limits = {});
// The same, with the members of objects in the order of the text.
nlohmann::ordered_json parse_strict_ordered(std::string_view text, const std::string& where,
                                            const JsonLimits& limits = {});

// parse_strict of a file. Throws FormatError also when it cannot be read.
nlohmann::json read_strict(const std::filesystem::path& file,
                           std::size_t limit_bytes = kMaxFileBytes);

// A line of a record that nobody vouches for: a discarded value (is_discarded()) where parse_strict
// would throw. Integers beyond 64 bits are kept as with digits_beyond, and are no numbers then.
nlohmann::json parse_or_discard(std::string_view text);

}  // namespace octlm::formats
