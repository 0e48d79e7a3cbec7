#include "verify/lenient_json.h"

#include <cmath>
#include <limits>

namespace octlm::verify {

const nlohmann::json& member(const nlohmann::json& json, const char* name) {
  static const nlohmann::json kNothing;
  if (!json.is_object()) return kNothing;
  const auto found = json.find(name);
  return found == json.end() ? kNothing : *found;
}

std::string string_of(const nlohmann::json& json) {
  return json.is_string() ? json.get<std::string>() : "";
}

std::optional<std::int64_t> integer_of(const nlohmann::json& json) {
  if (!json.is_number_integer()) return std::nullopt;
  // Past 2^63 it is no count of ours.
  if (json.is_number_unsigned() &&
      json.get<std::uint64_t>() > std::uint64_t{std::numeric_limits<std::int64_t>::max()}) {
    return std::nullopt;
  }
  return json.get<std::int64_t>();
}

std::optional<bool> bool_of(const nlohmann::json& json) {
  return json.is_boolean() ? std::optional(json.get<bool>()) : std::nullopt;
}

std::optional<double> number_of(const nlohmann::json& json) {
  if (json.is_number()) return json.get<double>();
  const std::string text = string_of(json);
  if (text == "nan") return std::nan("");
  if (text == "inf") return HUGE_VAL;
  if (text == "-inf") return -HUGE_VAL;
  return std::nullopt;
}

}  // namespace octlm::verify
