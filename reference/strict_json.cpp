#include "reference/strict_json.h"

#include <algorithm>
#include <limits>

#include "formats/error.h"
#include "formats/quoted.h"
#include "formats/strict_json.h"

namespace octlm::reference {
namespace {

using nlohmann::json;

using formats::refuse;

std::string in_quotes(std::string_view key) { return "\"" + formats::printable(key) + "\""; }

}  // namespace

json parse_object(std::string_view text, const std::string& where) {
  json value = formats::parse_strict(text, where, formats::kIntegersOf64Bits);
  if (!value.is_object()) refuse(where, "not a JSON object");
  return value;
}

void check_keys(const json& object, std::initializer_list<std::string_view> keys,
                const std::string& where) {
  if (!object.is_object()) refuse(where, "not an object");
  for (const auto& [key, value] : object.items()) {
    if (std::find(keys.begin(), keys.end(), key) == keys.end())
      refuse(where, "unknown key " + in_quotes(key));
  }
  for (const std::string_view key : keys) {
    if (!object.contains(key)) refuse(where, in_quotes(key) + " is missing");
  }
}

std::string string_at(const json& object, const char* key, const std::string& where) {
  if (!object.at(key).is_string()) refuse(where, in_quotes(key) + " is not a string");
  return object.at(key).get<std::string>();
}

std::int64_t to_count(const json& value, const std::string& where) {
  // A non-negative literal parses as unsigned.
  if (!value.is_number_unsigned() ||
      value.get<std::uint64_t>() >
          static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
    refuse(where, "not an integer from 0 to 2^63 - 1");
  }
  return value.get<std::int64_t>();
}

std::int64_t count_at(const json& object, const char* key, const std::string& where) {
  return to_count(object.at(key), where + ": " + in_quotes(key));
}

}  // namespace octlm::reference
