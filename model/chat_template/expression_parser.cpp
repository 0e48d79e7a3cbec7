#include "model/chat_template/expression_parser.h"

#include <charconv>
#include <cstdlib>
#include <optional>

namespace octlm::model::jinja {
namespace {

// Nested brackets while parsing, and the height of the tree that is made. Longer sums and chains of filters
// than this are no template's.
constexpr int kMaxLevel = 100;
constexpr int kMaxHeight = 120;

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

Expression make(ExpressionKind kind, int line) {
  return Expression{.kind = kind, .line = line, .name = {}, .constant = {}, .operands = {}, .named = {}, .comparisons = {}};
}

Expression constant(Value value, int line) {
  Expression made = make(ExpressionKind::kConstant, line);
  made.constant = std::move(value);
  return made;
}

Expression over(ExpressionKind kind, int line, ExpressionPtr first, ExpressionPtr second = nullptr) {
  Expression made = make(kind, line);
  made.operands.push_back(std::move(first));
  if (second) made.operands.push_back(std::move(second));
  return made;
}

Value number(const Token& token, const TokenStream& tokens) {
  if (token.kind == TokenKind::kFloat) {
    return Value::real(std::strtod(token.text.c_str(), nullptr), Origin::kTemplate);
  }
  std::int64_t value = 0;
  const auto parsed = std::from_chars(token.text.data(), token.text.data() + token.text.size(), value);
  if (parsed.ec != std::errc()) tokens.refuse_unsupported("an integer of more than 64 bits");
  return Value::integer(value, Origin::kTemplate);
}

}  // namespace

ExpressionPtr ExpressionParser::done(Expression made) {
  int height = 0;
  for (const auto& operand : made.operands) {
    if (operand) height = std::max(height, operand->height);
  }
  for (const auto& argument : made.named) height = std::max(height, argument.second->height);
  made.height = height + 1;
  if (made.height > kMaxHeight) {
    throw SyntaxMistake{made.line, "an expression nested more than " + std::to_string(kMaxHeight) + " deep"};
  }
  return std::make_unique<const Expression>(std::move(made));
}

bool ExpressionParser::at_tuple_end(std::string_view end_name) const {
  return tokens_.is(TokenKind::kVariableEnd) || tokens_.is(TokenKind::kBlockEnd) || tokens_.is_operator(")") ||
         (!end_name.empty() && tokens_.is_name(end_name));
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
  }
  return value;
}

ExpressionPtr ExpressionParser::either() {
  const int line = tokens_.line();
  ExpressionPtr left = both();
  while (tokens_.skip_name("or")) left = done(over(ExpressionKind::kOr, line, std::move(left), both()));
  return left;
}

ExpressionPtr ExpressionParser::both() {
  const int line = tokens_.line();
  ExpressionPtr left = negation();
  while (tokens_.skip_name("and")) left = done(over(ExpressionKind::kAnd, line, std::move(left), negation()));
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
    if (tokens_.is_name("not") && tokens_.after().kind == TokenKind::kName && tokens_.after().text == "in") {
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

ExpressionPtr ExpressionParser::primary() {
  const int line = tokens_.line();
  if (tokens_.is(TokenKind::kName)) {
    const std::string name = tokens_.next().text;
    if (name == "true" || name == "True") return done(constant(Value::boolean(true, Origin::kTemplate), line));
    if (name == "false" || name == "False") return done(constant(Value::boolean(false, Origin::kTemplate), line));
    if (name == "none" || name == "None") return done(constant(Value(None{}, Origin::kTemplate), line));
    names_read_.push_back(name);
    Expression made = make(ExpressionKind::kName, line);
    made.name = name;
    return done(std::move(made));
  }
  if (tokens_.is(TokenKind::kString)) {
    std::string text;
    while (tokens_.is(TokenKind::kString)) text += tokens_.next().text;
    return done(constant(Value::literal(text), line));
  }
  if (tokens_.is(TokenKind::kInteger) || tokens_.is(TokenKind::kFloat)) {
    const Token token = tokens_.next();
    return done(constant(number(token, tokens_), line));
  }
  return bracketed();
}

ExpressionPtr ExpressionParser::bracketed() {
  const int line = tokens_.line();
  if (tokens_.skip_operator("(")) {
    if (tokens_.skip_operator(")")) return done(make(ExpressionKind::kTuple, line));
    ExpressionPtr inside = tuple();
    tokens_.expect_operator(")");
    return inside;
  }
  if (tokens_.is_operator("[")) return list();
  if (tokens_.is_operator("{")) return dict();
  tokens_.refuse("expected an expression, found " + tokens_.found());
}

ExpressionPtr ExpressionParser::list() {
  Expression made = make(ExpressionKind::kList, tokens_.line());
  tokens_.expect_operator("[");
  while (!tokens_.is_operator("]")) {
    made.operands.push_back(expression());
    if (!tokens_.skip_operator(",")) break;
  }
  tokens_.expect_operator("]");
  return done(std::move(made));
}

ExpressionPtr ExpressionParser::dict() {
  Expression made = make(ExpressionKind::kDict, tokens_.line());
  tokens_.expect_operator("{");
  while (!tokens_.is_operator("}")) {
    made.operands.push_back(expression());
    tokens_.expect_operator(":");
    made.operands.push_back(expression());
    if (!tokens_.skip_operator(",")) break;
  }
  tokens_.expect_operator("}");
  return done(std::move(made));
}

ExpressionPtr ExpressionParser::postfix(ExpressionPtr value) {
  while (true) {
    if (tokens_.is_operator(".")) {
      value = attribute_of(std::move(value));
    } else if (tokens_.is_operator("[")) {
      value = item_of(std::move(value));
    } else if (tokens_.is_operator("(")) {
      value = call_of(std::move(value));
    } else {
      return value;
    }
  }
}

ExpressionPtr ExpressionParser::filters_and_tests(ExpressionPtr value) {
  while (true) {
    if (tokens_.is_operator("|")) {
      tokens_.next();
      value = filter_of(std::move(value));
    } else if (tokens_.is_name("is")) {
      value = test_of(std::move(value));
    } else if (tokens_.is_operator("(")) {
      value = call_of(std::move(value));
    } else {
      return value;
    }
  }
}

ExpressionPtr ExpressionParser::attribute_of(ExpressionPtr value) {
  const int line = tokens_.line();
  tokens_.expect_operator(".");
  if (tokens_.is(TokenKind::kInteger)) {  // value.0 is value[0]
    const Token token = tokens_.next();
    return done(over(ExpressionKind::kItem, line, std::move(value), done(constant(number(token, tokens_), line))));
  }
  Expression made = over(ExpressionKind::kAttribute, line, std::move(value));
  made.name = tokens_.expect(TokenKind::kName, "a name or a number after '.'").text;
  return done(std::move(made));
}

ExpressionPtr ExpressionParser::item_of(ExpressionPtr value) {
  const int line = tokens_.line();
  tokens_.expect_operator("[");
  const auto bound = [this]() -> ExpressionPtr {
    const bool left_out = tokens_.is_operator(":") || tokens_.is_operator("]") || tokens_.is_operator(",");
    return left_out ? nullptr : expression();
  };
  ExpressionPtr start = bound();
  if (!tokens_.is_operator(":")) {
    if (tokens_.is_operator(",")) tokens_.refuse_unsupported("several keys in one pair of brackets");
    if (!start) tokens_.refuse("expected an expression, found " + tokens_.found());
    tokens_.expect_operator("]");
    return done(over(ExpressionKind::kItem, line, std::move(value), std::move(start)));
  }
  tokens_.next();
  Expression made = over(ExpressionKind::kSlice, line, std::move(value));
  made.operands.push_back(std::move(start));
  made.operands.push_back(bound());
  made.operands.push_back(tokens_.skip_operator(":") ? bound() : nullptr);
  if (tokens_.is_operator(",")) tokens_.refuse_unsupported("several keys in one pair of brackets");
  tokens_.expect_operator("]");
  return done(std::move(made));
}

void ExpressionParser::arguments(Expression& call) {
  tokens_.expect_operator("(");
  while (!tokens_.is_operator(")")) {
    if (tokens_.is_operator("*") || tokens_.is_operator("**")) {
      tokens_.refuse_unsupported("unpacking arguments with '" + tokens_.current().text + "'");
    }
    const bool is_named = tokens_.is(TokenKind::kName) && tokens_.after().kind == TokenKind::kOperator &&
                          tokens_.after().text == "=";
    if (is_named) {
      std::string name = tokens_.next().text;
      tokens_.next();
      call.named.emplace_back(std::move(name), expression());
    } else {
      if (!call.named.empty()) tokens_.refuse("a positional argument after a named one");
      call.operands.push_back(expression());
    }
    if (!tokens_.skip_operator(",")) break;
  }
  tokens_.expect_operator(")");
}

ExpressionPtr ExpressionParser::call_of(ExpressionPtr callee) {
  Expression made = over(ExpressionKind::kCall, tokens_.line(), std::move(callee));
  arguments(made);
  return done(std::move(made));
}

std::string ExpressionParser::dotted_name() {
  std::string name = tokens_.expect(TokenKind::kName, "a name").text;
  while (tokens_.skip_operator(".")) name += "." + tokens_.expect(TokenKind::kName, "a name").text;
  return name;
}

ExpressionPtr ExpressionParser::filter_of(ExpressionPtr value) {
  const int line = tokens_.line();
  Expression made = over(ExpressionKind::kFilter, line, std::move(value));
  made.name = dotted_name();
  try {
    made.filter = &find_filter(made.name);
  } catch (const UnsupportedError& error) {
    throw SyntaxMistake{line, error.what(), true};
  } catch (const TemplateError& error) {
    throw SyntaxMistake{line, error.what()};
  }
  if (tokens_.is_operator("(")) arguments(made);
  return done(std::move(made));
}

ExpressionPtr ExpressionParser::test_of(ExpressionPtr value) {
  const int line = tokens_.line();
  tokens_.expect_name("is");
  const bool negated = tokens_.skip_name("not");
  Expression made = over(ExpressionKind::kTest, line, std::move(value));
  made.name = dotted_name();
  try {
    made.test = find_test(made.name);
  } catch (const UnsupportedError& error) {
    throw SyntaxMistake{line, error.what(), true};
  } catch (const TemplateError& error) {
    throw SyntaxMistake{line, error.what()};
  }
  const bool has_bare_argument =
      tokens_.is(TokenKind::kName) || tokens_.is(TokenKind::kString) || tokens_.is(TokenKind::kInteger) ||
      tokens_.is(TokenKind::kFloat) || tokens_.is_operator("[") || tokens_.is_operator("{");
  if (tokens_.is_operator("(")) {
    arguments(made);
  } else if (has_bare_argument && !tokens_.is_name("else") && !tokens_.is_name("or") && !tokens_.is_name("and")) {
    if (tokens_.is_name("is")) tokens_.refuse("tests cannot be chained with 'is'");
    made.operands.push_back(postfix(primary()));
  }
  ExpressionPtr test = done(std::move(made));
  return negated ? done(over(ExpressionKind::kNot, line, std::move(test))) : std::move(test);
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
