// How the expression parser makes its nodes, and how deep it goes.
#pragma once

#include <string>
#include <utility>

#include "model/chat_template/syntax/syntax.h"
#include "model/chat_template/syntax/token_stream.h"

namespace octlm::model::jinja {

// Nested brackets while parsing, and the height of the tree that is made. Longer sums and chains of
// filters than this are no template's.
inline constexpr int kMaxLevel = 100;
inline constexpr int kMaxHeight = 120;

class Nested {
 public:
  Nested(int& level, const TokenStream& tokens) : level_(level) {
    if (++level_ > kMaxLevel) {
      --level_;
      tokens.refuse("an expression nested more than " + std::to_string(kMaxLevel) + " deep");
    }
  }
  ~Nested() { --level_; }
  Nested(const Nested&) = delete;
  Nested& operator=(const Nested&) = delete;

 private:
  int& level_;
};

inline Expression make(ExpressionKind kind, int line) {
  return Expression{.kind = kind,
                    .line = line,
                    .name = {},
                    .constant = {},
                    .operands = {},
                    .named = {},
                    .comparisons = {}};
}

inline Expression constant(Value value, int line) {
  Expression made = make(ExpressionKind::kConstant, line);
  made.constant = std::move(value);
  return made;
}

inline Expression over(ExpressionKind kind, int line, ExpressionPtr first,
                       ExpressionPtr second = nullptr) {
  Expression made = make(kind, line);
  made.operands.push_back(std::move(first));
  if (second) made.operands.push_back(std::move(second));
  return made;
}

}  // namespace octlm::model::jinja
