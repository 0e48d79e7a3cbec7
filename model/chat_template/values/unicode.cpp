#include "model/chat_template/values/unicode.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "formats/utf8.h"

namespace octlm::model::jinja {
namespace {

struct SpecialCase {
  char32_t code_point;
  const char* upper;
  const char* title;
};

constexpr SpecialCase kSpecialCasing[] = {
#include "model/chat_template/values/special_casing.inc"
};

const SpecialCase* special_case(char32_t code_point) {
  const auto* found =
      std::ranges::lower_bound(kSpecialCasing, code_point, {}, &SpecialCase::code_point);
  return found != std::end(kSpecialCasing) && found->code_point == code_point ? found : nullptr;
}

std::string as_utf8(char32_t code_point) {
  std::string text;
  formats::append_utf8(text, code_point);
  return text;
}

template <std::size_t size>
bool contains(const std::array<char32_t, size>& list, char32_t code_point) {
  return std::ranges::find(list, code_point) != list.end();
}

}  // namespace

std::size_t length_at(std::string_view text, std::size_t at) {
  const auto lead = static_cast<unsigned char>(text[at]);
  return lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
}

char32_t code_point_at(std::string_view text, std::size_t at) {
  return formats::code_point_at(text.data() + at).value;
}

std::size_t count_code_points(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char byte) { return (static_cast<unsigned char>(byte) & 0xC0u) != 0x80u; }));
}

std::size_t byte_of(std::string_view text, std::size_t index) {
  std::size_t at = 0;
  for (; index > 0 && at < text.size(); --index) at += length_at(text, at);
  return at;
}

bool is_space(char32_t c) {
  return (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x20) || c == 0x85 || c == 0xA0 ||
         c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F ||
         c == 0x205F || c == 0x3000;
}

bool is_line_end(char32_t c) {
  return (c >= 0x0A && c <= 0x0D) || (c >= 0x1C && c <= 0x1E) || c == 0x85 || c == 0x2028 ||
         c == 0x2029;
}

bool is_printable(char32_t c) {
  if (c == 0x20) return true;
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(c))) {
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_ZS:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
      return false;
    default:
      return true;
  }
}

bool is_cased(char32_t c) {
  // Other_Lowercase and Other_Uppercase: first, last
  static constexpr std::pair<char32_t, char32_t> kOthers[] = {
      {0xAA, 0xAA},       {0xBA, 0xBA},       {0x2B0, 0x2B8},     {0x2C0, 0x2C1},
      {0x2E0, 0x2E4},     {0x345, 0x345},     {0x37A, 0x37A},     {0x1D2C, 0x1D6A},
      {0x1D78, 0x1D78},   {0x1D9B, 0x1DBF},   {0x2071, 0x2071},   {0x207F, 0x207F},
      {0x2090, 0x209C},   {0x2160, 0x217F},   {0x24B6, 0x24E9},   {0x2C7C, 0x2C7D},
      {0xA69C, 0xA69D},   {0xA770, 0xA770},   {0xA7F8, 0xA7F9},   {0xAB5C, 0xAB5F},
      {0x10780, 0x10780}, {0x10783, 0x10785}, {0x10787, 0x107B0}, {0x107B2, 0x107BA},
      {0x1F130, 0x1F149}, {0x1F150, 0x1F169}, {0x1F170, 0x1F189}};
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(c))) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
      return true;
    default:
      return std::ranges::any_of(
          kOthers, [c](const auto& range) { return c >= range.first && c <= range.second; });
  }
}

bool is_case_ignorable(char32_t c) {
  // Word_Break = MidLetter, MidNumLet, Single_Quote
  static constexpr std::array<char32_t, 17> kMiddle = {
      0x27,   0x2E,   0x3A,   0xB7,   0x387,  0x55F,  0x5F4,  0x2018, 0x2019,
      0x2024, 0x2027, 0xFE13, 0xFE52, 0xFE55, 0xFF07, 0xFF0E, 0xFF1A};
  if (contains(kMiddle, c)) return true;
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(c))) {
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_SK:
      return true;
    default:
      return false;
  }
}

std::string upper(char32_t c) {
  if (const auto* special = special_case(c)) return special->upper;
  return as_utf8(static_cast<char32_t>(utf8proc_toupper(static_cast<utf8proc_int32_t>(c))));
}

std::string lower(char32_t c) {
  if (c == 0x130) return "i\xcc\x87";  // the one that becomes two
  return as_utf8(static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c))));
}

std::string title(char32_t c) {
  if (const auto* special = special_case(c)) return special->title;
  return as_utf8(static_cast<char32_t>(utf8proc_totitle(static_cast<utf8proc_int32_t>(c))));
}

std::size_t first_invalid_utf8(std::string_view text) {
  const auto* bytes = reinterpret_cast<const utf8proc_uint8_t*>(text.data());
  for (std::size_t at = 0; at < text.size();) {
    utf8proc_int32_t code_point = 0;
    const auto used = utf8proc_iterate(
        bytes + at, static_cast<utf8proc_ssize_t>(std::min<std::size_t>(4, text.size() - at)),
        &code_point);
    if (used <= 0) return at;
    at += static_cast<std::size_t>(used);
  }
  return std::string_view::npos;
}

}  // namespace octlm::model::jinja
