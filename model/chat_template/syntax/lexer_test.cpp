#include "model/chat_template/syntax/lexer.h"

#include <gtest/gtest.h>

namespace octlm::model::jinja {
namespace {

// Data in brackets, other tokens by their text, tags as they look.
std::string shown(std::string_view source) {
  std::string all;
  for (const Token& token : tokenize(source)) {
    switch (token.kind) {
      case TokenKind::kData:
        all += "[" + token.text + "]";
        break;
      case TokenKind::kVariableBegin:
        all += "{{";
        break;
      case TokenKind::kVariableEnd:
        all += "}}";
        break;
      case TokenKind::kBlockBegin:
        all += "{%";
        break;
      case TokenKind::kBlockEnd:
        all += "%}";
        break;
      case TokenKind::kEnd:
        break;
      default:
        all += " " + token.text;
        break;
    }
  }
  return all;
}

SyntaxMistake mistake(std::string_view source) {
  try {
    tokenize(source);
  } catch (const SyntaxMistake& found) {
    return found;
  }
  return {0, "none"};
}

TEST(Lexer, TrimsTheLineEndAfterABlockAndTheIndentationBeforeIt) {
  EXPECT_EQ(shown("a\n  {% if x %}\n  b\n  {% endif %}\nc"), "[a\n]{% if x%}[  b\n]{% endif%}[c]");
  EXPECT_EQ(shown("  {% x %}b"), "{% x%}[b]") << "the template's start begins a line";
  EXPECT_EQ(shown("a  {% x %}  b"), "[a  ]{% x%}[  b]");
}

TEST(Lexer, VariablesKeepTheSpaceAroundThem) {
  EXPECT_EQ(shown("a\n  {{ x }}\nb"), "[a\n  ]{{ x}}[\nb]");
}

TEST(Lexer, SignsTakeOrKeepWhiteSpace) {
  EXPECT_EQ(shown("a \n {%- x -%} \n b"), "[a]{% x%}[b]");
  EXPECT_EQ(shown("a\n  {%+ x +%}\nb"), "[a\n  ]{% x%}[\nb]");
  EXPECT_EQ(shown("a {{- x -}} b"), "[a]{{ x}}[b]");
  EXPECT_EQ(shown("a \n{#- c -#}\n b"), "[a][b]");
}

TEST(Lexer, CommentsAndRaw) {
  EXPECT_EQ(shown("a{# {{ x }} #}\nb"), "[a][b]");
  EXPECT_EQ(shown("{% raw %}\n{{ x }}{% endraw %}\nb"), "[\n{{ x }}][b]");
}

TEST(Lexer, LineEndsAreNormalisedAndTheLastOneGoes) {
  EXPECT_EQ(shown("a\r\nb\rc\n"), "[a\nb\nc]");
  EXPECT_EQ(shown("a\n\n"), "[a\n]");
}

TEST(Lexer, ATagEndsOnlyOutsideBrackets) {
  EXPECT_EQ(shown("{{ {'a': {}} }}"), "{{ { a : { } }}}");
}

TEST(Lexer, StringsResolveEscapes) {
  EXPECT_EQ(shown(R"({{ 'a\n\x41\u00e9\101\'' "\d" }})"),
            "{{ a\nA\xc3\xa9"
            "A' \\d}}");
  EXPECT_TRUE(mistake(R"({{ '\N{DASH}' }})").unsupported);
  EXPECT_TRUE(mistake(R"({{ '\ud800' }})").unsupported);
}

TEST(Lexer, NumbersAndDottedIndices) {
  EXPECT_EQ(shown("{{ 1_000 2.5 1e3 a.0.1 }}"), "{{ 1000 2.5 1e3 a . 0 . 1}}");
  EXPECT_TRUE(mistake("{{ 0x1f }}").unsupported);
}

TEST(Lexer, MistakesNameTheirLine) {
  EXPECT_EQ(mistake("a\n\n{{ 'x").line, 3);
  EXPECT_EQ(mistake("{{ ( ] }}").what, "unexpected ']'");
  EXPECT_EQ(mistake("{# a").what, "a comment is never closed");
  EXPECT_EQ(mistake("{{ $ }}").what, "unexpected character '$'");
}

}  // namespace
}  // namespace octlm::model::jinja
