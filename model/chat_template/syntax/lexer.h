// Template source to tokens, with Jinja's white space control and Transformers' settings:
// trim_blocks (the line end after a block tag goes), lstrip_blocks (so does the indentation before
// it), one trailing line end dropped.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace octlm::model::jinja {

enum class TokenKind {
  kData,           // literal text
  kVariableBegin,  // {{
  kVariableEnd,
  kBlockBegin,  // {%
  kBlockEnd,
  kName,
  kString,  // escapes resolved
  kInteger,
  kFloat,
  kOperator,
  kEnd,
};

struct Token {
  TokenKind kind;
  std::string text;
  int line;
};

// A template with a mistake, at this line.
struct SyntaxMistake {
  int line;
  std::string what;
  bool unsupported = false;  // Jinja would take it
};

// Throws SyntaxMistake. The last token is kEnd.
std::vector<Token> tokenize(std::string_view source);

}  // namespace octlm::model::jinja
