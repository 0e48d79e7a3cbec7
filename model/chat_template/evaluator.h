// Walks the tree of a template and writes its text.
#pragma once

#include <memory>
#include <string_view>

#include "model/chat_template/runtime.h"
#include "model/chat_template/syntax/syntax.h"

namespace octlm::model::jinja {

class Evaluator {
 public:
  // REQUIRES: runtime and the tree outlive this.
  explicit Evaluator(Runtime& runtime) : runtime_(runtime) {}

  // `given`: the variables of the chat.
  Text render(const Body& body, const std::shared_ptr<Scope>& given);

  // Of the node under way: where an error that render() threw comes from.
  int line() const { return line_; }

 private:
  enum class Flow { kOn, kBreak, kContinue };
  using ScopePtr = std::shared_ptr<Scope>;

  Flow run(const Body& body, const ScopePtr& scope);
  Flow run(const Statement& statement, const ScopePtr& scope);
  Flow run_if(const Statement& statement, const ScopePtr& scope);
  Flow run_for(const Statement& statement, const ScopePtr& scope);
  void run_set(const Statement& statement, const ScopePtr& scope);
  Flow run_set_block(const Statement& statement, const ScopePtr& scope);
  Flow run_filter_block(const Statement& statement, const ScopePtr& scope);
  void run_call_block(const Statement& statement, const ScopePtr& scope);
  Flow run_with(const Statement& statement, const ScopePtr& scope);
  void output(const Value& value);
  // Runs the body with its output caught.
  Value capture(const Body& body, const ScopePtr& scope, Flow& flow);
  void assign(const Target& target, const Value& value, const ScopePtr& scope);

  Value evaluate(const Expression& expression, const ScopePtr& scope);
  Value evaluate_operation(const Expression& expression, const ScopePtr& scope);
  Value name(const Expression& expression, const ScopePtr& scope);
  const Value* find(std::string_view name, const Scope* scope) const;
  Value display(const Expression& expression, const ScopePtr& scope);
  Value slice(const Expression& expression, const ScopePtr& scope);
  Value concatenation(const Expression& expression, const ScopePtr& scope);
  Value comparison(const Expression& expression, const ScopePtr& scope);
  bool compare(Comparison comparison, const Value& a, const Value& b);
  Arguments arguments(const Expression& expression, const ScopePtr& scope);
  // `caller`: what a call block adds to the arguments, or nullptr.
  Value call(const Expression& expression, const ScopePtr& scope, const Value* caller);

  Value macro(const Macro& macro, const ScopePtr& scope);
  Value run_macro(const Macro& macro, const ScopePtr& scope, Arguments& arguments);
  void bind_parameters(const Macro& macro, const ScopePtr& inside, Arguments& arguments);

  Runtime& runtime_;
  TextBuilder* out_ = nullptr;
  Value captured_;
  int line_ = 1;
};

}  // namespace octlm::model::jinja
