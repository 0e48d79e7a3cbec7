// The tokens, one after the other.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/chat_template/syntax/lexer.h"

namespace octlm::model::jinja {

class TokenStream {
 public:
  explicit TokenStream(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  const Token& current() const { return tokens_[at_]; }
  const Token& after() const { return tokens_[std::min(at_ + 1, tokens_.size() - 1)]; }
  int line() const { return current().line; }

  bool is(TokenKind kind) const { return current().kind == kind; }
  bool is(TokenKind kind, std::string_view text) const {
    return is(kind) && current().text == text;
  }
  bool is_name(std::string_view text) const { return is(TokenKind::kName, text); }
  bool is_operator(std::string_view text) const { return is(TokenKind::kOperator, text); }

  Token next() {
    Token token = current();
    if (at_ + 1 < tokens_.size()) ++at_;
    return token;
  }

  bool skip_name(std::string_view text) { return is_name(text) && (next(), true); }
  bool skip_operator(std::string_view text) { return is_operator(text) && (next(), true); }

  Token expect(TokenKind kind, std::string_view what) {
    if (!is(kind)) refuse("expected " + std::string(what) + ", found " + found());
    return next();
  }
  void expect_operator(std::string_view text) {
    if (!skip_operator(text)) refuse("expected '" + std::string(text) + "', found " + found());
  }
  void expect_name(std::string_view text) {
    if (!skip_name(text)) refuse("expected '" + std::string(text) + "', found " + found());
  }

  std::string found() const {
    switch (current().kind) {
      case TokenKind::kEnd:
        return "the end of the template";
      case TokenKind::kData:
        return "text";
      case TokenKind::kVariableBegin:
        return "'{{'";
      case TokenKind::kVariableEnd:
        return "'}}'";
      case TokenKind::kBlockBegin:
        return "'{%'";
      case TokenKind::kBlockEnd:
        return "'%}'";
      case TokenKind::kString:
        return "a string";
      default:
        return "'" + current().text + "'";
    }
  }

  [[noreturn]] void refuse(const std::string& what) const { throw SyntaxMistake{line(), what}; }
  [[noreturn]] void refuse_unsupported(const std::string& construct) const {
    throw SyntaxMistake{line(), construct + " is not supported", true};
  }

 private:
  std::vector<Token> tokens_;
  std::size_t at_ = 0;
};

}  // namespace octlm::model::jinja
