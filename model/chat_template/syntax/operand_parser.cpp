// The ExpressionParser's operands: literals and names, and what follows them.
#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "model/chat_template/syntax/expression_making.h"
#include "model/chat_template/syntax/expression_parser.h"

namespace octlm::model::jinja {
namespace {

Value number(const Token& token) {
  if (token.kind == TokenKind::kFloat) {
    return Value::real(std::strtod(token.text.c_str(), nullptr), Origin::kTemplate);
  }
  std::int64_t value = 0;
  const auto parsed =
      std::from_chars(token.text.data(), token.text.data() + token.text.size(), value);
  if (parsed.ec != std::errc()) {
    const std::size_t first = std::min(token.text.find_first_not_of('0'), token.text.size() - 1);
    return Value::big_integer(token.text.substr(first), Origin::kTemplate);
  }
  return Value::integer(value, Origin::kTemplate);
}

}  // namespace

ExpressionPtr ExpressionParser::primary() {
  const int line = tokens_.line();
  if (tokens_.is(TokenKind::kName)) {
    const std::string name = tokens_.next().text;
    if (name == "true" || name == "True")
      return done(constant(Value::boolean(true, Origin::kTemplate), line));
    if (name == "false" || name == "False")
      return done(constant(Value::boolean(false, Origin::kTemplate), line));
    if (name == "none" || name == "None")
      return done(constant(Value(None{}, Origin::kTemplate), line));
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
    return done(constant(number(token), line));
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
    return done(
        over(ExpressionKind::kItem, line, std::move(value), done(constant(number(token), line))));
  }
  Expression made = over(ExpressionKind::kAttribute, line, std::move(value));
  made.name = tokens_.expect(TokenKind::kName, "a name or a number after '.'").text;
  return done(std::move(made));
}

ExpressionPtr ExpressionParser::item_of(ExpressionPtr value) {
  const int line = tokens_.line();
  tokens_.expect_operator("[");
  const auto bound = [this]() -> ExpressionPtr {
    const bool left_out =
        tokens_.is_operator(":") || tokens_.is_operator("]") || tokens_.is_operator(",");
    return left_out ? nullptr : expression();
  };
  ExpressionPtr start = bound();
  const auto several_keys = [&] {
    while (tokens_.skip_operator(",")) {
      for (bool more = true; more; more = tokens_.skip_operator(":")) bound();
    }
    tokens_.expect_operator("]");
    return unsupported("several keys in one pair of brackets", line);
  };
  if (!tokens_.is_operator(":")) {
    if (tokens_.is_operator(",")) return several_keys();
    if (!start) tokens_.refuse("expected an expression, found " + tokens_.found());
    tokens_.expect_operator("]");
    return done(over(ExpressionKind::kItem, line, std::move(value), std::move(start)));
  }
  tokens_.next();
  Expression made = over(ExpressionKind::kSlice, line, std::move(value));
  made.operands.push_back(std::move(start));
  made.operands.push_back(bound());
  made.operands.push_back(tokens_.skip_operator(":") ? bound() : nullptr);
  if (tokens_.is_operator(",")) return several_keys();
  tokens_.expect_operator("]");
  return done(std::move(made));
}

void ExpressionParser::arguments(Expression& call) {
  tokens_.expect_operator("(");
  while (!tokens_.is_operator(")")) {
    if (tokens_.is_operator("*") || tokens_.is_operator("**")) {
      const int line = tokens_.line();
      const std::string stars = tokens_.next().text;
      expression();
      call.operands.push_back(unsupported("unpacking arguments with '" + stars + "'", line));
      if (!tokens_.skip_operator(",")) break;
      continue;
    }
    const bool is_named = tokens_.is(TokenKind::kName) &&
                          tokens_.after().kind == TokenKind::kOperator &&
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
  } catch (const UnsupportedError&) {  // when it is reached
  } catch (const TemplateError& error) {
    unknown_names_.push_back({line, error.what()});
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
  } catch (const UnsupportedError&) {  // when it is reached
  } catch (const TemplateError& error) {
    unknown_names_.push_back({line, error.what()});
  }
  const bool has_bare_argument = tokens_.is(TokenKind::kName) || tokens_.is(TokenKind::kString) ||
                                 tokens_.is(TokenKind::kInteger) || tokens_.is(TokenKind::kFloat) ||
                                 tokens_.is_operator("[") || tokens_.is_operator("{");
  if (tokens_.is_operator("(")) {
    arguments(made);
  } else if (has_bare_argument && !tokens_.is_name("else") && !tokens_.is_name("or") &&
             !tokens_.is_name("and")) {
    if (tokens_.is_name("is")) tokens_.refuse("tests cannot be chained with 'is'");
    made.operands.push_back(postfix(primary()));
  }
  ExpressionPtr test = done(std::move(made));
  return negated ? done(over(ExpressionKind::kNot, line, std::move(test))) : std::move(test);
}

}  // namespace octlm::model::jinja
