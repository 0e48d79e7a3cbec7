// UTF-8 read one code point at a time, strictly: no overlong forms, surrogates or values past
// U+10FFFF.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace octlm::verify {

struct CodePoint {
  std::uint32_t value = 0;
  std::size_t bytes = 0;  // 0: what stands here is not UTF-8
};

// The code point that starts at text[at]. REQUIRES at < text.size().
CodePoint code_point_at(std::string_view text, std::size_t at);

// Offset of the first byte that is not UTF-8, or npos.
std::size_t first_invalid_utf8(std::string_view text);

}  // namespace octlm::verify
