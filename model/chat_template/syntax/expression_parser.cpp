// How tightly the operators bind.
#include "model/chat_template/syntax/expression_parser.h"

#include <optional>

#include "model/chat_template/syntax/expression_making.h"

namespace octlm::model::jinja {

ExpressionPtr ExpressionParser::done(Expression made) {
  int height = 0;
  for (const auto& operand : made.operands) {
    if (operand) height = std::max(height, operand->height);
  }
  for (const auto& argument : made.named) height = std::max(height, argument.second->height);
  made.height = height + 1;
  if (made.height > kMaxHeight) {
    throw SyntaxMistake{made.line,
                        "an expression nested more than " + std::to_string(kMaxHeight) + " deep"};
  }
  return std::make_unique<const Expression>(std::move(made));
}

ExpressionPtr ExpressionParser::unsupported(std::string construct, int line) {
  Expression made = make(ExpressionKind::kUnsupported, line);
  made.name = std::move(construct);
  return done(std::move(made));
}

void ExpressionParser::settle_names(bool soft) {
  if (!soft && !unknown_names_.empty()) throw unknown_names_.front();
  unknown_names_.clear();
}

bool ExpressionParser::at_tuple_end(std::string_view end_name) const {
  return tokens_.is(TokenKind::kVariableEnd) || tokens_.is(TokenKind::kBlockEnd) ||
         tokens_.is_operator(")") || (!end_name.empty() && tokens_.is_name(end_name));
}

ExpressionPtr ExpressionParser::tuple(bool with_condition, std::string_view end_name) {
  const int line = tokens_.line();
  std::vector<ExpressionPtr> items;
  bool is_tuple = false;
  while (!at_tuple_end(end_name)) {
    items.push_back(expression(with_condition));
    if (!tokens_.skip_operator(",")) break;
    is_tuple = true;
  }
  if (!is_tuple) {
    if (items.empty()) tokens_.refuse("expected an expression, found " + tokens_.found());
    return std::move(items[0]);
  }
  Expression made = make(ExpressionKind::kTuple, line);
  made.operands = std::move(items);
  return done(std::move(made));
}

ExpressionPtr ExpressionParser::expression(bool with_condition) {
  const Nested nested(level_, tokens_);
  return with_condition ? condition() : either();
}

ExpressionPtr ExpressionParser::condition() {
  const int line = tokens_.line();
  const std::size_t known_before = unknown_names_.size();
  ExpressionPtr value = either();
  while (tokens_.skip_name("if")) {
    ExpressionPtr test = either();
    ExpressionPtr otherwise;
    if (tokens_.skip_name("else")) {
      const Nested nested(level_, tokens_);
      otherwise = condition();
    }
    Expression made = over(ExpressionKind::kConditional, line, std::move(test), std::move(value));
    made.operands.push_back(std::move(otherwise));
    value = done(std::move(made));
    unknown_names_.resize(known_before);
  }
  return value;
}

// `false and x` and `true or x` are constants: Jinja's optimiser never looks at x.
ExpressionPtr ExpressionParser::short_circuit(ExpressionKind kind, int line, ExpressionPtr left) {
  const std::size_t known_before = unknown_names_.size();
  const bool is_constant = left->kind == ExpressionKind::kConstant &&
                           left->constant.truth() == (kind == ExpressionKind::kOr);
  ExpressionPtr right = kind == ExpressionKind::kOr ? both() : negation();
  if (is_constant) unknown_names_.resize(known_before);
  return done(over(kind, line, std::move(left), std::move(right)));
}

ExpressionPtr ExpressionParser::either() {
  const int line = tokens_.line();
  ExpressionPtr left = both();
  while (tokens_.skip_name("or")) left = short_circuit(ExpressionKind::kOr, line, std::move(left));
  return left;
}

ExpressionPtr ExpressionParser::both() {
  const int line = tokens_.line();
  ExpressionPtr left = negation();
  while (tokens_.skip_name("and"))
    left = short_circuit(ExpressionKind::kAnd, line, std::move(left));
  return left;
}

ExpressionPtr ExpressionParser::negation() {
  const int line = tokens_.line();
  if (!tokens_.skip_name("not")) return comparison();
  const Nested nested(level_, tokens_);
  return done(over(ExpressionKind::kNot, line, negation()));
}

ExpressionPtr ExpressionParser::comparison() {
  const auto next = [this]() -> std::optional<Comparison> {
    if (tokens_.skip_operator("==")) return Comparison::kEqual;
    if (tokens_.skip_operator("!=")) return Comparison::kUnequal;
    if (tokens_.skip_operator("<")) return Comparison::kLess;
    if (tokens_.skip_operator("<=")) return Comparison::kAtMost;
    if (tokens_.skip_operator(">")) return Comparison::kGreater;
    if (tokens_.skip_operator(">=")) return Comparison::kAtLeast;
    if (tokens_.skip_name("in")) return Comparison::kIn;
    if (tokens_.is_name("not") && tokens_.after().kind == TokenKind::kName &&
        tokens_.after().text == "in") {
      tokens_.next();
      tokens_.next();
      return Comparison::kNotIn;
    }
    return std::nullopt;
  };
  Expression made = over(ExpressionKind::kCompare, tokens_.line(), sum());
  while (const auto compared = next()) {
    made.comparisons.push_back(*compared);
    made.operands.push_back(sum());
  }
  if (made.comparisons.empty()) return std::move(made.operands[0]);
  return done(std::move(made));
}

ExpressionPtr ExpressionParser::sum() {
  const int line = tokens_.line();
  ExpressionPtr left = concatenation();
  while (tokens_.is_operator("+") || tokens_.is_operator("-")) {
    const bool adds = tokens_.next().text == "+";
    Expression made = over(ExpressionKind::kArithmetic, line, std::move(left), concatenation());
    made.arithmetic = adds ? Arithmetic::kAdd : Arithmetic::kSubtract;
    left = done(std::move(made));
  }
  return left;
}

ExpressionPtr ExpressionParser::concatenation() {
  Expression made = over(ExpressionKind::kConcat, tokens_.line(), product());
  while (tokens_.skip_operator("~")) made.operands.push_back(product());
  if (made.operands.size() == 1) return std::move(made.operands[0]);
  return done(std::move(made));
}

ExpressionPtr ExpressionParser::product() {
  const int line = tokens_.line();
  const auto next = [this]() -> std::optional<Arithmetic> {
    if (tokens_.skip_operator("*")) return Arithmetic::kMultiply;
    if (tokens_.skip_operator("/")) return Arithmetic::kDivide;
    if (tokens_.skip_operator("//")) return Arithmetic::kFloorDivide;
    if (tokens_.skip_operator("%")) return Arithmetic::kModulo;
    return std::nullopt;
  };
  ExpressionPtr left = power();
  while (const auto operation = next()) {
    Expression made = over(ExpressionKind::kArithmetic, line, std::move(left), power());
    made.arithmetic = *operation;
    left = done(std::move(made));
  }
  return left;
}

ExpressionPtr ExpressionParser::power() {
  const int line = tokens_.line();
  ExpressionPtr left = signed_value();
  while (tokens_.skip_operator("**")) {
    Expression made = over(ExpressionKind::kArithmetic, line, std::move(left), signed_value());
    made.arithmetic = Arithmetic::kPower;
    left = done(std::move(made));
  }
  return left;
}

ExpressionPtr ExpressionParser::signed_value(bool with_filters) {
  const Nested nested(level_, tokens_);
  const int line = tokens_.line();
  ExpressionPtr value;
  if (tokens_.skip_operator("-")) {
    value = done(over(ExpressionKind::kNegative, line, signed_value(false)));
  } else if (tokens_.skip_operator("+")) {
    value = done(over(ExpressionKind::kPositive, line, signed_value(false)));
  } else {
    value = primary();
  }
  value = postfix(std::move(value));
  return with_filters ? filters_and_tests(std::move(value)) : std::move(value);
}

ExpressionPtr ExpressionParser::filters_of_block(bool starts_with_name) {
  ExpressionPtr value = done(make(ExpressionKind::kCaptured, tokens_.line()));
  bool more = starts_with_name || tokens_.skip_operator("|");
  while (more) {
    value = filter_of(std::move(value));
    more = tokens_.skip_operator("|");
  }
  return value;
}

}  // namespace octlm::model::jinja
