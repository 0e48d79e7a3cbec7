#include "formats/utf8.h"

#include <cstring>

namespace octlm::formats {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";

// Bytes of the ASCII run at `at`.
std::size_t ascii_run(std::string_view text, std::size_t at) {
  const std::size_t begin = at;
  for (; at + 8 <= text.size(); at += 8) {
    std::uint64_t word;
    std::memcpy(&word, text.data() + at, 8);
    if ((word & 0x8080808080808080u) != 0) break;
  }
  while (at < text.size() && static_cast<unsigned char>(text[at]) < 0x80) ++at;
  return at - begin;
}

}  // namespace

Utf8Step utf8_step(std::string_view text, std::size_t at) {
  using Kind = Utf8Step::Kind;
  const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = byte(at);
  if (lead < 0x80) return {Kind::kCharacter, 1};
  if (lead < 0xc2 || lead > 0xf4) return {Kind::kInvalid, 1};
  const std::size_t needed = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  // The second byte of some leads is restricted: no overlong forms, no surrogates, nothing past
  // U+10FFFF.
  const unsigned least = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
  const unsigned most = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
  for (std::size_t i = 1; i < needed; ++i) {
    if (at + i >= text.size()) return {Kind::kIncomplete, i};
    const unsigned c = byte(at + i);
    if (c < (i == 1 ? least : 0x80) || c > (i == 1 ? most : 0xbf)) return {Kind::kInvalid, i};
  }
  return {Kind::kCharacter, needed};
}

CodePoint checked_code_point(std::string_view text, std::size_t at) {
  if (utf8_step(text, at).kind != Utf8Step::Kind::kCharacter) return {};
  return code_point_at(text.data() + at);
}

std::size_t find_invalid_utf8(std::string_view text) {
  for (std::size_t at = ascii_run(text, 0); at < text.size();) {
    const Utf8Step step = utf8_step(text, at);
    if (step.kind != Utf8Step::Kind::kCharacter) return at;
    at += step.bytes;
    if (step.bytes == 1) at += ascii_run(text, at);
  }
  return std::string_view::npos;
}

void append_lossy(std::string& out, std::string_view bytes) {
  std::size_t copied = 0;
  for (std::size_t at = ascii_run(bytes, 0); at < bytes.size();) {
    const Utf8Step step = utf8_step(bytes, at);
    if (step.kind != Utf8Step::Kind::kCharacter) {
      out.append(bytes.substr(copied, at - copied)).append(kReplacement);
      copied = at + step.bytes;
    }
    at += step.bytes;
    if (step.bytes == 1) at += ascii_run(bytes, at);
  }
  out.append(bytes.substr(copied));
}

}  // namespace octlm::formats
