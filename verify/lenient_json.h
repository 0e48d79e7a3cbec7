// What a record that nobody vouches for holds: the value, or nothing. Nothing here throws, so that
// a report of a strange file is a strange report and no crash.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace octlm::verify {

// The member, or a null value when `json` is no object or has none of that name.
const nlohmann::json& member(const nlohmann::json& json, const char* name);

std::string string_of(const nlohmann::json& json);                   // "" unless it is a string
std::optional<std::int64_t> integer_of(const nlohmann::json& json);  // a whole number
std::optional<bool> bool_of(const nlohmann::json& json);
// A number, or one of the strings "nan", "inf", "-inf" that stand for one.
std::optional<double> number_of(const nlohmann::json& json);

}  // namespace octlm::verify
