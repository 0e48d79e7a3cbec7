#include "model/tokenizer/nfc.h"

#include <gtest/gtest.h>

namespace octlm::model {
namespace {

TEST(Nfc, ComposesAndOrders) {
  EXPECT_EQ(nfc("cafe\u0301"), "caf\u00e9");
  EXPECT_EQ(nfc("a\u0301\u0323"), "\u1ea1\u0301");
  EXPECT_EQ(nfc("\u1100\u1161\u11a8"), "\uac01");
  EXPECT_EQ(nfc("\uac00\u11a8"), "\uac01");
  EXPECT_EQ(nfc("\u212b\u2126"), "\u00c5\u03a9");
  EXPECT_EQ(nfc("\u0958"), "\u0915\u093c") << "excluded from composition";
  EXPECT_EQ(nfc("\u0344"), "\u0308\u0301");
  EXPECT_EQ(nfc("plain"), "plain");
  EXPECT_EQ(nfc(""), "");
}

// What Unicode 9.0 did not know stays as it is; a Unicode 15 NFC would compose or reorder these.
TEST(Nfc, IsThatOfUnicode9) {
  EXPECT_EQ(nfc("\U00011935\U00011930"), "\U00011935\U00011930")
      << "composes to U+11938 since 13.0";
  EXPECT_EQ(nfc("a\u0301\u1abf"), "\u00e1\u1abf");
  EXPECT_EQ(nfc("a\u1acf\u0323"), "a\u1acf\u0323") << "U+1ACF has class 230 since 14.0";
}

TEST(Nfc, SurelyNfcIsNeverWrong) {
  EXPECT_TRUE(is_surely_nfc("plain caf\u00e9 \u65e5\u672c \U0001f642"));
  for (const char* text : {"e\u0301", "\u212b", "\u1100\u1161", "\uac00\u11a8"})
    EXPECT_FALSE(is_surely_nfc(text));
}

TEST(Nfc, KeepsWhoWroteWhat) {
  RenderedText text;
  text.append("e", Origin::kTemplate);
  text.append("\u0301<", Origin::kUser);
  text.append("u\u0308>", Origin::kTemplate);
  RenderedText want;
  want.append("\u00e9<", Origin::kUser);
  want.append("\u00fc>", Origin::kTemplate);
  const RenderedText got = nfc(text);
  EXPECT_EQ(got.text(), want.text());
  EXPECT_EQ(got.runs(), want.runs());
}

TEST(Nfc, ManyMarksOnOneLetterTakeLittleTime) {
  std::string text = "a";
  for (int i = 0; i < 200'000; ++i) text += i % 2 == 0 ? "\u0301" : "\u0323";
  EXPECT_EQ(nfc(text).size(), text.size() - 1 + 3 - 2)
      << "a and one dot below become one character of 3 bytes";
}

}  // namespace
}  // namespace octlm::model
