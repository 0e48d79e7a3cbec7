// UTF-8 by the byte: reading, writing, validating, and replacing what is invalid as Rust and Python
// do (one U+FFFD per maximal subpart, Unicode 15 section 3.9, table 3-8).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace octlm::formats {

// One code point of valid UTF-8.
struct CodePoint {
  std::uint32_t value = 0;
  std::uint32_t bytes = 0;
};

// REQUIRES: a whole character of valid UTF-8 at `at`.
inline CodePoint code_point_at(const char* at) {
  const auto byte = [at](int i) {
    return static_cast<std::uint32_t>(static_cast<unsigned char>(at[i]));
  };
  const std::uint32_t lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  if (lead < 0xe0) return {(lead & 0x1f) << 6 | (byte(1) & 0x3f), 2};
  if (lead < 0xf0) return {(lead & 0x0f) << 12 | (byte(1) & 0x3f) << 6 | (byte(2) & 0x3f), 3};
  return {(lead & 0x07) << 18 | (byte(1) & 0x3f) << 12 | (byte(2) & 0x3f) << 6 | (byte(3) & 0x3f),
          4};
}

// The code point that starts at text[at] of arbitrary bytes; 0 bytes: what stands there is none.
// REQUIRES: at < text.size().
CodePoint checked_code_point(std::string_view text, std::size_t at);

// Where the character that ends at `end` begins. REQUIRES: valid UTF-8, end > 0.
inline std::size_t character_before(std::string_view text, std::size_t end) {
  do {
    --end;
  } while ((static_cast<unsigned char>(text[end]) & 0xc0) == 0x80);
  return end;
}

// REQUIRES: a Unicode scalar value.
inline void append_utf8(std::string& out, std::uint32_t c) {
  const auto put = [&out](std::uint32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (c < 0x80) {
    put(c);
  } else if (c < 0x800) {
    put(0xc0 | c >> 6), put(0x80 | (c & 0x3f));
  } else if (c < 0x10000) {
    put(0xe0 | c >> 12), put(0x80 | (c >> 6 & 0x3f)), put(0x80 | (c & 0x3f));
  } else {
    put(0xf0 | c >> 18), put(0x80 | (c >> 12 & 0x3f)), put(0x80 | (c >> 6 & 0x3f)),
        put(0x80 | (c & 0x3f));
  }
}

// What stands at one place of arbitrary bytes.
struct Utf8Step {
  enum class Kind {
    kCharacter,   // a whole one of `bytes` bytes
    kInvalid,     // `bytes` bytes that no continuation can make valid: one U+FFFD
    kIncomplete,  // the text ends within what may still become a character
  };
  Kind kind = Kind::kCharacter;
  std::size_t bytes = 0;
};

// REQUIRES: at < text.size().
Utf8Step utf8_step(std::string_view text, std::size_t at);

// Offset of the first byte that is not UTF-8, or npos.
std::size_t find_invalid_utf8(std::string_view text);

// Appends `bytes` with U+FFFD for what is invalid, an incomplete end included.
void append_lossy(std::string& out, std::string_view bytes);

}  // namespace octlm::formats
