#include "experiments/commands/keyword_expression.h"

#include <gmock/gmock.h>

#include "formats/testing/message_of.h"

namespace octlm::experiments {
namespace {

using ::testing::HasSubstr;

bool matches(const std::string& expression) {
  return KeywordExpression(expression)
      .matches({"EXP-102", "Float32 logits match Transformers", "parity", "logit_parity"});
}

TEST(KeywordExpression, AWordIsAPartOfAnyNameInAnyCase) {
  EXPECT_TRUE(matches("102"));
  EXPECT_TRUE(matches("exp-102"));
  EXPECT_TRUE(matches("float32"));
  EXPECT_TRUE(matches("LOGIT_"));
  EXPECT_FALSE(matches("EXP-103"));
  EXPECT_FALSE(matches("tokenizer"));
}

// As pytest: `not` binds before `and`, `and` before `or`.
TEST(KeywordExpression, AndOrNotAndParentheses) {
  EXPECT_TRUE(matches("parity and float32"));
  EXPECT_FALSE(matches("parity and cached"));
  EXPECT_TRUE(matches("cached or parity"));
  EXPECT_TRUE(matches("not cached"));
  EXPECT_FALSE(matches("not parity"));
  EXPECT_TRUE(matches("not not parity"));
  EXPECT_TRUE(matches("parity or cached and tokenizer"));
  EXPECT_FALSE(matches("(parity or cached) and tokenizer"));
  EXPECT_FALSE(matches("not cached and tokenizer"));
  EXPECT_TRUE(matches("not (cached and parity)"));
  EXPECT_TRUE(matches("cached or not(tokenizer)and parity"));
  EXPECT_FALSE(matches("android"));  // a word that begins like an operator
}

TEST(KeywordExpression, WhatIsNoneIsRefusedWithItsPlace) {
  const auto message = [](const std::string& text) {
    return formats::testing::message_of<std::invalid_argument>([&] { KeywordExpression{text}; });
  };
  EXPECT_THAT(message(""), HasSubstr("column 1: expected a word, 'not' or '(', found the end"));
  EXPECT_THAT(message("a and"), HasSubstr("column 6: expected a word"));
  EXPECT_THAT(message("a b"), HasSubstr("column 3: expected 'and', 'or' or the end, found 'b'"));
  EXPECT_THAT(message("(a"), HasSubstr("column 3: expected ')', found the end"));
  EXPECT_THAT(message("a)"), HasSubstr("column 2: expected 'and', 'or' or the end, found ')'"));
  EXPECT_THAT(message("or a"), HasSubstr("column 1: expected a word"));
  EXPECT_THAT(message(std::string(5000, '(') + "a"), HasSubstr("nested too deeply"));
}

}  // namespace
}  // namespace octlm::experiments
