// Expressions. From the loosest binding to the tightest:
//   a if b else c
//   or
//   and
//   not
//   comparisons
//   + -
//   ~
//   * / // %
//   **, signs
//   what follows a value: .name [key] (call) |filter is test
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/chat_template/syntax/syntax.h"
#include "model/chat_template/syntax/token_stream.h"

namespace octlm::model::jinja {

class ExpressionParser {
 public:
  explicit ExpressionParser(TokenStream& tokens) : tokens_(tokens) {}

  ExpressionPtr expression(bool with_condition = true);
  // Several with commas between make a tuple, which needs no brackets. `end_name` ends it too.
  ExpressionPtr tuple(bool with_condition = true, std::string_view end_name = "");
  // The filters of a block: "upper | trim" for `{% filter %}`, "| upper" for `{% set x | upper %}`.
  ExpressionPtr filters_of_block(bool starts_with_name);

  // After each expression of a statement. A filter or test that Jinja does not have may wait for
  // its turn to be refused where its compiler lets it: inside `if`, up to the next block that has a
  // scope of its own (`soft`, its Frame.soft_frame), in a conditional expression, and where
  // constants leave it out. Elsewhere the template is wrong: throws. What Jinja has and this lacks
  // always waits.
  void settle_names(bool soft);

  // Every variable read so far, for macros that ask for caller, kwargs or varargs.
  const std::vector<std::string>& names_read() const { return names_read_; }

 private:
  ExpressionPtr condition();
  ExpressionPtr either();
  ExpressionPtr both();
  ExpressionPtr negation();
  ExpressionPtr comparison();
  ExpressionPtr sum();
  ExpressionPtr concatenation();
  ExpressionPtr product();
  ExpressionPtr power();
  ExpressionPtr signed_value(bool with_filters = true);
  ExpressionPtr primary();
  ExpressionPtr bracketed();
  ExpressionPtr list();
  ExpressionPtr dict();
  ExpressionPtr postfix(ExpressionPtr value);
  ExpressionPtr filters_and_tests(ExpressionPtr value);
  ExpressionPtr attribute_of(ExpressionPtr value);
  ExpressionPtr item_of(ExpressionPtr value);
  ExpressionPtr call_of(ExpressionPtr callee);
  ExpressionPtr filter_of(ExpressionPtr value);
  ExpressionPtr test_of(ExpressionPtr value);
  void arguments(Expression& call);
  std::string dotted_name();
  ExpressionPtr done(Expression made);
  ExpressionPtr unsupported(std::string construct, int line);
  ExpressionPtr short_circuit(ExpressionKind kind, int line, ExpressionPtr left);
  bool at_tuple_end(std::string_view end_name) const;

  TokenStream& tokens_;
  std::vector<std::string> names_read_;
  std::vector<SyntaxMistake> unknown_names_;  // filters and tests since the last settle_names
  int level_ = 0;
};

}  // namespace octlm::model::jinja
