#include "verify/report/display_width.h"

#include <algorithm>
#include <cstdint>

#include "formats/utf8.h"

namespace octlm::verify {
namespace {

struct Range {
  std::uint32_t first, last;
};

// In order. Blocks that are wide but for a few characters are taken whole.
constexpr Range kWide[] = {
    {0x1100, 0x115F},   {0x231A, 0x231B},   {0x2329, 0x232A},   {0x23E9, 0x23EC},
    {0x23F0, 0x23F0},   {0x23F3, 0x23F3},   {0x25FD, 0x25FE},   {0x2614, 0x2615},
    {0x2648, 0x2653},   {0x267F, 0x267F},   {0x2693, 0x2693},   {0x26A1, 0x26A1},
    {0x26AA, 0x26AB},   {0x26BD, 0x26BE},   {0x26C4, 0x26C5},   {0x26CE, 0x26CE},
    {0x26D4, 0x26D4},   {0x26EA, 0x26EA},   {0x26F2, 0x26F3},   {0x26F5, 0x26F5},
    {0x26FA, 0x26FA},   {0x26FD, 0x26FD},   {0x2705, 0x2705},   {0x270A, 0x270B},
    {0x2728, 0x2728},   {0x274C, 0x274C},   {0x274E, 0x274E},   {0x2753, 0x2755},
    {0x2757, 0x2757},   {0x2795, 0x2797},   {0x27B0, 0x27B0},   {0x27BF, 0x27BF},
    {0x2B1B, 0x2B1C},   {0x2B50, 0x2B50},   {0x2B55, 0x2B55},   {0x2E80, 0x303E},
    {0x3041, 0x3098},   {0x309B, 0xA4CF},   {0xA960, 0xA97C},   {0xAC00, 0xD7A3},
    {0xF900, 0xFAFF},   {0xFE10, 0xFE19},   {0xFE30, 0xFE6F},   {0xFF00, 0xFF60},
    {0xFFE0, 0xFFE6},   {0x16FE0, 0x18CFF}, {0x1AFF0, 0x1B2FF}, {0x1F004, 0x1F004},
    {0x1F0CF, 0x1F0CF}, {0x1F18E, 0x1F19A}, {0x1F1E6, 0x1F64F}, {0x1F680, 0x1F6FF},
    {0x1F7E0, 0x1F7F0}, {0x1F90C, 0x1F9FF}, {0x1FA70, 0x1FAFF}, {0x20000, 0x3FFFD}};

// Marks that stand on the character before them. U+FE0F is not among them: it may make that one
// wide.
constexpr Range kCombining[] = {
    {0x0300, 0x036F}, {0x0483, 0x0489}, {0x0591, 0x05BD}, {0x0610, 0x061A}, {0x064B, 0x065F},
    {0x06D6, 0x06DC}, {0x0900, 0x0902}, {0x093A, 0x093A}, {0x093C, 0x093C}, {0x0941, 0x0948},
    {0x094D, 0x094D}, {0x0E31, 0x0E31}, {0x0E34, 0x0E3A}, {0x0E47, 0x0E4E}, {0x1160, 0x11FF},
    {0x1AB0, 0x1AFF}, {0x1DC0, 0x1DFF}, {0x20D0, 0x20FF}, {0x3099, 0x309A}, {0xFE00, 0xFE0E},
    {0xFE20, 0xFE2F}};

template <std::size_t N>
bool among(const Range (&ranges)[N], std::uint32_t c) {
  const auto* after =
      std::upper_bound(std::begin(ranges), std::end(ranges), c,
                       [](std::uint32_t value, const Range& range) { return value < range.first; });
  return after != std::begin(ranges) && c <= (after - 1)->last;
}

struct Step {
  std::size_t bytes, columns;
};

Step step_at(std::string_view text, std::size_t at) {
  const formats::CodePoint c = formats::checked_code_point(text, at);
  if (c.bytes == 0) return {1, 1};
  return {c.bytes, among(kCombining, c.value) ? 0U : among(kWide, c.value) ? 2U : 1U};
}

}  // namespace

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  for (std::size_t at = 0; at < text.size();) {
    const Step step = step_at(text, at);
    width += step.columns;
    at += step.bytes;
  }
  return width;
}

std::string cut_to_width(std::string_view text, std::size_t columns) {
  std::size_t at = 0;
  for (std::size_t width = 0; at < text.size();) {
    const Step step = step_at(text, at);
    width += step.columns;
    if (width > columns) break;
    at += step.bytes;
  }
  return std::string(text.substr(0, at));
}

std::string shortened_to_width(std::string_view text, std::size_t columns) {
  const std::size_t width = display_width(text);
  if (width <= columns) return std::string(text);
  if (columns == 0) return "";
  const std::string first = cut_to_width(text, columns / 2);
  // The shortest end that leaves no more than what is free.
  std::size_t left_out = 0, at = 0;
  const std::size_t free = columns - display_width(first) - 1;
  while (at < text.size() && width - left_out > free) {
    const Step step = step_at(text, at);
    left_out += step.columns;
    at += step.bytes;
  }
  return first + "…" + std::string(text.substr(at));
}

}  // namespace octlm::verify
