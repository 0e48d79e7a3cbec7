// JSON from outside (config.json, a shard index, a safetensors header), read so that nothing in it
// can be lost: duplicate keys, numbers beyond a double, NUL bytes, invalid UTF-8 and deep nesting
// are refused. Used inside model/ only.
#pragma once

#include <cstddef>
#include <filesystem>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>

namespace octlm::model {

using Json = nlohmann::json;

// The world failed at `where` (a path, or a path and a place in it): std::runtime_error with one
// line.
[[noreturn]] void refuse(const std::string& where, const std::string& what);

// Throws std::runtime_error that starts with `where`.
Json parse_strict_json(std::string_view text, const std::string& where);

// Reads a regular file of at most `limit_bytes`. Throws std::runtime_error with the path.
std::string read_small_file(const std::filesystem::path& path, std::size_t limit_bytes);

// Text that came from a file, fit for one line of an error message: in single quotes, control and
// non-ASCII bytes as \xNN, shortened.
std::string in_quotes(std::string_view text);

// A value as it stands in the file, shortened.
std::string as_found(const Json& value);

// The name of least edit distance when that is near enough to be a misspelling, else "".
std::string nearest_name(std::string_view name, std::span<const std::string_view> known);

}  // namespace octlm::model
