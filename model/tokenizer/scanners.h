// The pre-tokenizer expressions of the GPT-2, Llama-3 and Qwen families by hand: the same pieces as
// the expression gives, several times faster than any regex engine. Fuzzed against Pattern and
// Hugging Face.
#pragma once

#include <string_view>

namespace octlm::model {

// The end of the piece that begins at `at`, at < end; valid UTF-8. Pieces cover the whole text.
using Scanner = const char* (*)(const char* at, const char* end);

inline constexpr std::string_view kGpt2Expression =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

// The scanner of an expression that is known by its exact spelling, or null.
Scanner known_scanner(std::string_view expression);

const char* scan_gpt2(const char* at, const char* end);
// Digits: a piece is a digit, or a run of digits, or a run of anything else.
const char* scan_individual_digits(const char* at, const char* end);
const char* scan_contiguous_digits(const char* at, const char* end);

}  // namespace octlm::model
