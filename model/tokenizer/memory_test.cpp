// 100 MB in one text: beside the text and its ids, memory stays small.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <iostream>

#include "model/tokenizer/testing/tiny_tokenizer.h"
#include "model/tokenizer/tokenizer.h"

namespace octlm::model {
namespace {

constexpr std::size_t kMegabyte = 1 << 20;
constexpr std::size_t kText = 100 * kMegabyte;

std::size_t peak_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::size_t>(usage.ru_maxrss) * 1024;
}

// No list of the whole text's pieces, offsets or merges is kept: one of the pieces alone, at eight
// bytes each, would be twice the slack.
constexpr std::size_t kSlack = 32 * kMegabyte;

TEST(TokenizerMemory, IsBoundedOnAHundredMegabytes) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "not run: a sanitizer keeps memory of its own";
#endif
  const Tokenizer tokenizer = testing::load(
      testing::tiny({{"Ġ", "b"}, {"Ġb", "a"}, {"Ġba", "b"}, {"a", "b"}, {"ab", "ab"}}));
  std::string text;
  text.reserve(kText);
  while (text.size() + 10 <= kText) text += " bababab\u00e9";
  RenderedText rendered;
  rendered.append(text, Origin::kTemplate);

  const std::size_t before = peak_bytes();
  std::vector<std::int32_t> literal = tokenizer.encode_literal(text);
  const std::size_t literal_bytes = peak_bytes() - before;
  // A vector that grows holds its old half beside the new one, of which it has written as much.
  const std::size_t ids = literal.capacity() * sizeof literal[0];
  EXPECT_LE(literal_bytes, ids + kSlack);

  const std::size_t between = peak_bytes();
  EXPECT_EQ(tokenizer.encode_rendered(rendered), literal) << "nothing here that NFC changes";
  const std::size_t native_bytes = peak_bytes() - between;
  EXPECT_LE(native_bytes, ids + kText + kSlack) << "with a normalised copy of the text";
  std::cout << "beside " << text.size() / kMegabyte << " MB of text and " << ids / kMegabyte
            << " MB of ids: " << (literal_bytes - ids) / kMegabyte << " MB literal, "
            << native_bytes / kMegabyte << " MB native with its ids\n";
}

}  // namespace
}  // namespace octlm::model
