// JSON that says what it means: no duplicate keys, no unknown keys, no wrong types. Errors name the
// place.
#pragma once

#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "formats/error.h"

namespace octlm::reference {

// Parses `text`, an object. Throws formats::FormatError for anything that is not one
// JSON object without duplicate keys.
nlohmann::json parse_object(std::string_view text, const std::string& where);

// Throws std::runtime_error unless `object` is an object with exactly these keys.
void check_keys(const nlohmann::json& object, std::initializer_list<std::string_view> keys,
                const std::string& where);

// object[key] as a string, or as an integer >= 0. Throws std::runtime_error for another type.
std::string string_at(const nlohmann::json& object, const char* key, const std::string& where);
std::int64_t count_at(const nlohmann::json& object, const char* key, const std::string& where);
std::int64_t to_count(const nlohmann::json& value, const std::string& where);

}  // namespace octlm::reference
