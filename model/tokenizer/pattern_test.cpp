#include "model/tokenizer/pattern.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "formats/utf8.h"
#include "model/tokenizer/scanners.h"
#include "model/tokenizer/testing/tiny_tokenizer.h"

namespace octlm::model {
namespace {

std::vector<std::string> pieces(const Pattern& pattern, std::string_view text) {
  std::vector<std::string> out;
  Pattern::Search search(pattern, text);
  Pattern::Match match;
  std::size_t done = 0;
  for (; search.next(done, match); done = match.end) {
    if (match.begin > done) out.emplace_back(text.substr(done, match.begin - done));
    out.emplace_back(text.substr(match.begin, match.end - match.begin));
  }
  if (done < text.size()) out.emplace_back(text.substr(done));
  return out;
}

std::vector<std::string> scanned(Scanner scanner, std::string_view text) {
  std::vector<std::string> out;
  const char* const end = text.data() + text.size();
  for (const char* at = text.data(); at != end;) {
    const char* next = scanner(at, end);
    out.emplace_back(at, next);
    at = next;
  }
  return out;
}

using ::testing::ElementsAre;

// wangkuiyi/huggingface-tokenizer-in-cxx#10: without look-ahead the last space is swallowed.
TEST(Pattern, LookAheadLeavesTheLastSpaceToTheWord) {
  const Pattern pattern = Pattern::regex(testing::kQwenExpression);
  EXPECT_THAT(pieces(pattern, "a  b"), ElementsAre("a", " ", " b"));
  EXPECT_THAT(pieces(pattern, "a   "), ElementsAre("a", "   "));
  EXPECT_THAT(pieces(pattern, "    if"), ElementsAre("   ", " if"));
}

TEST(Pattern, ClassesAreTheReferencesNotPcre2s) {
  const Pattern letters = Pattern::regex(R"(\p{L}+)");
  EXPECT_THAT(pieces(letters, "1\U00031350\U00031351-"),
              ElementsAre("1", "\U00031350\U00031351", "-"))
      << "letters since Unicode 15.0";
  EXPECT_THAT(pieces(Pattern::regex(R"(\s+)"), "a\u180e\u3000b"),
              ElementsAre("a\u180e", "\u3000", "b"))
      << "PCRE2 takes U+180E for white space";
}

TEST(Pattern, RefusesByName) {
  const auto message = [](const char* expression) {
    try {
      Pattern::regex(expression);
    } catch (const std::runtime_error& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  using ::testing::HasSubstr;
  EXPECT_THAT(message(R"(\w+)"), HasSubstr("the escape \\w"));
  EXPECT_THAT(message(R"(\bword)"), HasSubstr("the escape \\b"));
  EXPECT_THAT(message(R"(\h+)"), HasSubstr("the escape \\h")) << "hexadecimal digits in Oniguruma";
  EXPECT_THAT(message(R"(^a)"), HasSubstr("'^'"));
  EXPECT_THAT(message(R"((?<=a)b)"), HasSubstr("the group"));
  EXPECT_THAT(message(R"(\p{Greek})"), HasSubstr("the property 'Greek'"));
  EXPECT_THAT(message(R"([a&&b])"), HasSubstr("an intersection"));
  EXPECT_THAT(message(R"(a{1,3}+)"), HasSubstr("a quantifier of a quantifier"));
  EXPECT_THAT(message(R"((?i:strasse))"), HasSubstr("'st' inside"));
  EXPECT_THAT(message(R"(a*)"), HasSubstr("can match nothing"));
  EXPECT_THAT(message(R"((a)"), HasSubstr("a ')' is missing"));
  EXPECT_THAT(message(R"([a)"), HasSubstr("a ']' is missing"));
  EXPECT_THAT(message("a\\"), HasSubstr("a lone backslash"));
}

TEST(Pattern, LiteralsAreNoExpressions) {
  EXPECT_THAT(pieces(Pattern::literal("a.c"), "abc a.c"), ElementsAre("abc ", "a.c"));
  EXPECT_THROW(Pattern::literal(""), std::runtime_error);
}

TEST(Scanners, GiveThePiecesOfTheirExpressions) {
  std::mt19937 draw(5);
  const std::vector<std::string> parts = {
      "a",      "B", "é", "日",     "ſ",    "'",    "'s", "'LL",  "'re",    "1",
      "٣",      "²", " ", "  ",     "\t",   "\n",   "\r", "\r\n", "\u00a0", "\u3000",
      "\u180e", ".", "!", "\u0301", "🙂", "\x01", "ve", "ll",   "<|",     "\u2028"};
  int compared = 0;
  for (const std::string& expression :
       {std::string(kGpt2Expression), std::string(testing::kQwenExpression),
        std::string(testing::kLlamaExpression)}) {
    const Scanner scanner = known_scanner(expression);
    ASSERT_NE(scanner, nullptr) << expression;
    const Pattern pattern = Pattern::regex(expression);
    for (int i = 0; i < 20'000; ++i) {
      std::string text;
      for (std::size_t n = 1 + draw() % 12; n-- > 0;) {
        if (draw() % 12 == 0) {
          const std::uint32_t c = draw() % 0x32000;
          if (c < 0xd800 || c >= 0xe000) formats::append_utf8(text, c);
        } else {
          text += parts[draw() % parts.size()];
        }
      }
      ASSERT_EQ(scanned(scanner, text), pieces(pattern, text)) << expression << " on " << text;
      ++compared;
    }
  }
  EXPECT_THAT(scanned(scan_individual_digits, "a\U00011de0\U00011de1b"),
              ElementsAre("a", "\U00011de0", "\U00011de1", "b"))
      << "digits since Unicode 17.0";
  EXPECT_EQ(compared, 60'000);
  EXPECT_EQ(known_scanner(R"(\p{L}+)"), nullptr);
}

}  // namespace
}  // namespace octlm::model
