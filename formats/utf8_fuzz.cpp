#include "formats/utf8.h"

#include "formats/testing/fuzzing.h"

namespace octlm::formats {
namespace {

using testing::require;

// By steps, as a decoder goes.
bool is_valid_by_steps(std::string_view text) {
  bool valid = true;
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Step step = utf8_step(text, at);
    require(step.bytes > 0 && step.bytes <= text.size() - at, "a step stays within the text");
    const CodePoint point = checked_code_point(text, at);
    const bool whole = step.kind == Utf8Step::Kind::kCharacter;
    require(whole == (point.bytes != 0), "a step and a code point agree on what is a character");
    if (whole) {
      std::string written;
      append_utf8(written, point.value);
      require(written == text.substr(at, step.bytes), "a character is written as it was read");
    }
    valid = valid && whole;
    at += step.bytes;
  }
  return valid;
}

}  // namespace
}  // namespace octlm::formats

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace octlm::formats;
  using testing::require;
  const std::string_view text = testing::text_of(data, size);
  const std::size_t invalid = find_invalid_utf8(text);
  require(is_valid_by_steps(text) == (invalid == std::string_view::npos), "one meaning of valid");
  std::string repaired;
  append_lossy(repaired, text);
  require(find_invalid_utf8(repaired) == std::string_view::npos, "what is repaired is valid");
  if (invalid == std::string_view::npos) require(repaired == text, "what is valid is kept");
  for (std::size_t end = repaired.size(); end > 0;) {
    const std::size_t begin = character_before(repaired, end);
    require(begin < end && end - begin <= 4, "a character has one to four bytes");
    end = begin;
  }
  return 0;
}
