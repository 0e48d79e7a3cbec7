#include "formats/canonical_json.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "formats/quoted.h"
#include "formats/utf8.h"

namespace octlm::formats {
namespace {

std::u16string utf16(std::string_view text) {
  std::u16string units;
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint c = checked_code_point(text, at);
    if (c.bytes == 0) throw std::invalid_argument("canonical JSON: a string is not UTF-8");
    if (c.value < 0x10000) {
      units += static_cast<char16_t>(c.value);
    } else {
      units += static_cast<char16_t>(0xD800 + ((c.value - 0x10000) >> 10));
      units += static_cast<char16_t>(0xDC00 + ((c.value - 0x10000) & 0x3FF));
    }
    at += c.bytes;
  }
  return units;
}

void write_string(std::string& out, std::string_view text) {
  if (find_invalid_utf8(text) != std::string_view::npos) {
    throw std::invalid_argument("canonical JSON: a string is not UTF-8");
  }
  out += '"';
  for (const char c : text) {
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\b':
        out += "\\b";
        break;
      case '\f':
        out += "\\f";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20) {
          out += "\\u00" + hex_byte(static_cast<unsigned char>(c));
        } else {
          out += c;
        }
    }
  }
  out += '"';
}

// Beyond 2^53 doubles skip integers, so that two of them would get one text.
double as_double(const nlohmann::json& number) {
  constexpr std::int64_t kExact = std::int64_t{1} << 53;
  const bool inexact = number.is_number_unsigned()
                           ? number.get<std::uint64_t>() > static_cast<std::uint64_t>(kExact)
                           : number.is_number_integer() && (number.get<std::int64_t>() > kExact ||
                                                            number.get<std::int64_t>() < -kExact);
  if (inexact) throw std::invalid_argument("canonical JSON: " + number.dump() + " is beyond 2^53");
  return number.get<double>();
}

void write(std::string& out, const nlohmann::json& value);

void write_object(std::string& out, const nlohmann::json& object) {
  std::vector<std::pair<std::u16string, const std::string*>> keys;
  for (auto member = object.begin(); member != object.end(); ++member) {
    keys.emplace_back(utf16(member.key()), &member.key());
  }
  std::sort(keys.begin(), keys.end());
  out += '{';
  bool first = true;
  for (const auto& [units, key] : keys) {
    if (!first) out += ',';
    first = false;
    write_string(out, *key);
    out += ':';
    write(out, object.at(*key));
  }
  out += '}';
}

void write(std::string& out, const nlohmann::json& value) {
  switch (value.type()) {
    case nlohmann::json::value_t::null:
      out += "null";
      break;
    case nlohmann::json::value_t::boolean:
      out += value.get<bool>() ? "true" : "false";
      break;
    case nlohmann::json::value_t::number_integer:
    case nlohmann::json::value_t::number_unsigned:
    case nlohmann::json::value_t::number_float:
      out += ecmascript_number(as_double(value));
      break;
    case nlohmann::json::value_t::string:
      write_string(out, value.get_ref<const std::string&>());
      break;
    case nlohmann::json::value_t::array: {
      out += '[';
      bool first = true;
      for (const auto& element : value) {
        if (!first) out += ',';
        first = false;
        write(out, element);
      }
      out += ']';
      break;
    }
    case nlohmann::json::value_t::object:
      write_object(out, value);
      break;
    default:
      throw std::invalid_argument("canonical JSON: not a JSON value");
  }
}

}  // namespace

// ECMA-262 Number::toString(x): with the shortest digits d1..dk that read back as x = 0.d1..dk *
// 10^n, plain notation for -6 < n <= 21, else d1.d2..dk e n-1.
std::string ecmascript_number(double value) {
  if (!std::isfinite(value)) throw std::invalid_argument("canonical JSON: a number is not finite");
  if (value == 0) return "0";  // -0 as well
  char scientific[40];
  const auto end = std::to_chars(scientific, scientific + sizeof scientific, std::fabs(value),
                                 std::chars_format::scientific);
  const std::string_view text(scientific, static_cast<std::size_t>(end.ptr - scientific));
  const std::size_t e = text.find('e');
  std::string digits(text.substr(0, e));
  std::erase(digits, '.');
  const int exponent = std::stoi(std::string(text.substr(e + 1)));
  const int k = static_cast<int>(digits.size());
  const int n = exponent + 1;

  std::string out = value < 0 ? "-" : "";
  if (k <= n && n <= 21) {
    out += digits + std::string(static_cast<std::size_t>(n - k), '0');
  } else if (0 < n && n <= 21) {
    out += digits.substr(0, static_cast<std::size_t>(n)) + "." +
           digits.substr(static_cast<std::size_t>(n));
  } else if (-6 < n && n <= 0) {
    out += "0." + std::string(static_cast<std::size_t>(-n), '0') + digits;
  } else {
    out += digits.substr(0, 1) + (k > 1 ? "." + digits.substr(1) : "") + "e" +
           (exponent < 0 ? "-" : "+") + std::to_string(std::abs(exponent));
  }
  return out;
}

std::string canonical_json(const nlohmann::json& value) {
  std::string out;
  write(out, value);
  return out;
}

}  // namespace octlm::formats
