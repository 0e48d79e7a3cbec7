// The EXPR of `run -k EXPR`: words, `and`, `or`, `not` and parentheses, as pytest takes it.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace octlm::experiments {

class KeywordExpression {
 public:
  // expression = and_part ("or" and_part)*, and_part = part ("and" part)*,
  // part = "not" part | "(" expression ")" | word. A word is anything else without spaces and
  // parentheses. Throws std::invalid_argument with the column of what is wrong.
  explicit KeywordExpression(std::string_view text);
  ~KeywordExpression();

  // A word is true when it is part of one of the names, whatever the case of its ASCII letters.
  bool matches(const std::vector<std::string>& names) const;

  struct Node;

 private:
  std::unique_ptr<Node> root_;
};

}  // namespace octlm::experiments
