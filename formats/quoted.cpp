#include "formats/quoted.h"

namespace octlm::formats {

std::string hex_byte(unsigned char byte) {
  constexpr char kHex[] = "0123456789abcdef";
  return {kHex[byte >> 4], kHex[byte & 15]};
}

std::string printable(std::string_view text, std::size_t limit) {
  std::string out;
  for (const char c : text.substr(0, limit)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f) {
      out += c;
    } else {
      out += "\\x" + hex_byte(byte);
    }
  }
  return text.size() > limit ? out + "..." : out;
}

std::string in_quotes(std::string_view text) { return "'" + printable(text) + "'"; }

std::string as_found(const nlohmann::json& value) {
  if (value.is_binary()) {  // an integer beyond 64 bits (JsonLimits::digits_beyond)
    return printable(std::string(value.get_binary().begin(), value.get_binary().end()));
  }
  return printable(value.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace));
}

}  // namespace octlm::formats
