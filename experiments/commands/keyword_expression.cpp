#include "experiments/commands/keyword_expression.h"

#include <algorithm>
#include <cctype>
#include <stdexcept>

namespace octlm::experiments {

struct KeywordExpression::Node {
  enum class Kind { kWord, kNot, kAnd, kOr };
  Kind kind = Kind::kWord;
  std::string word = {};  // in lower case
  std::vector<std::unique_ptr<Node>> parts = {};
};

namespace {

using Node = KeywordExpression::Node;

constexpr int kDeepest = 100;  // parentheses and `not` inside each other

std::string lower(std::string_view text) {
  std::string made(text);
  for (char& c : made) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return made;
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) { next(); }

  std::unique_ptr<Node> whole() {
    auto made = expression(0);
    if (!token_.empty()) fail("expected 'and', 'or' or the end");
    return made;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw std::invalid_argument("-k '" + std::string(text_) + "': column " +
                                std::to_string(at_ + 1) + ": " + what + ", found " +
                                (token_.empty() ? "the end" : "'" + std::string(token_) + "'"));
  }

  // The next word or parenthesis; "" at the end.
  void next() {
    at_ = std::min(text_.find_first_not_of(" \t\n", at_ + token_.size()), text_.size());
    const std::string_view rest = text_.substr(at_);
    const bool parenthesis = !rest.empty() && (rest[0] == '(' || rest[0] == ')');
    token_ = rest.substr(0, parenthesis ? 1 : rest.find_first_of(" \t\n()"));
  }
  bool take(std::string_view word) {
    if (token_ != word) return false;
    next();
    return true;
  }

  std::unique_ptr<Node> joined(Node::Kind kind, std::string_view by, int depth) {
    const bool outer = kind == Node::Kind::kOr;
    const auto one = [&] { return outer ? joined(Node::Kind::kAnd, "and", depth) : part(depth); };
    auto first = one();
    if (token_ != by) return first;
    auto made = std::make_unique<Node>(Node{.kind = kind});
    made->parts.push_back(std::move(first));
    while (take(by)) made->parts.push_back(one());
    return made;
  }

  std::unique_ptr<Node> expression(int depth) { return joined(Node::Kind::kOr, "or", depth); }

  std::unique_ptr<Node> part(int depth) {
    if (depth > kDeepest) fail("nested too deeply");
    if (take("not")) {
      auto made = std::make_unique<Node>(Node{.kind = Node::Kind::kNot});
      made->parts.push_back(part(depth + 1));
      return made;
    }
    if (take("(")) {
      auto made = expression(depth + 1);
      if (!take(")")) fail("expected ')'");
      return made;
    }
    if (token_.empty() || token_ == ")" || token_ == "and" || token_ == "or")
      fail("expected a word, 'not' or '('");
    auto made = std::make_unique<Node>(Node{.word = lower(token_)});
    next();
    return made;
  }

  std::string_view text_, token_;
  std::size_t at_ = 0;
};

bool holds(const Node& node, const std::vector<std::string>& names) {
  const auto one = [&](const std::unique_ptr<Node>& part) { return holds(*part, names); };
  switch (node.kind) {
    case Node::Kind::kWord:
      return std::ranges::any_of(names, [&](const std::string& name) {
        return name.find(node.word) != std::string::npos;
      });
    case Node::Kind::kNot:
      return !one(node.parts[0]);
    case Node::Kind::kAnd:
      return std::ranges::all_of(node.parts, one);
    case Node::Kind::kOr:
      return std::ranges::any_of(node.parts, one);
  }
  return false;
}

}  // namespace

KeywordExpression::KeywordExpression(std::string_view text) : root_(Parser(text).whole()) {}
KeywordExpression::~KeywordExpression() = default;

bool KeywordExpression::matches(const std::vector<std::string>& names) const {
  std::vector<std::string> lowered;
  for (const std::string& name : names) lowered.push_back(lower(name));
  return holds(*root_, lowered);
}

}  // namespace octlm::experiments
