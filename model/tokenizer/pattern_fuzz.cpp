// The regular expression of a Split, up to the first NUL, and a text that it cuts.
#include "model/tokenizer/pattern.h"

#include <algorithm>
#include <stdexcept>

#include "formats/testing/fuzzing.h"
#include "formats/utf8.h"

namespace octlm::model {
namespace {

void cut(const Pattern& pattern, std::string_view text) {
  Pattern::Search search(pattern, text);
  Pattern::Match match;
  for (std::size_t at = 0; search.next(at, match); at = match.end) {
    formats::testing::require(
        at <= match.begin && match.begin < match.end && match.end <= text.size(),
        "a match is not empty and lies in the text");
  }
}

}  // namespace
}  // namespace octlm::model

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace octlm;
  const std::string_view input = formats::testing::text_of(data, size);
  const std::size_t end = std::min(input.find('\0'), input.size());
  std::string text;
  formats::append_lossy(text, end < size ? input.substr(end + 1) : "The cat's 12\u00e9 \r\n  hats");
  formats::testing::accepted<std::runtime_error>(
      [&] { model::cut(model::Pattern::regex(input.substr(0, end)), text); });
  formats::testing::accepted<std::runtime_error>(
      [&] { model::cut(model::Pattern::literal(input.substr(0, end)), text); });
  return 0;
}
