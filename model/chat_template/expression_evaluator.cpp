// The Evaluator's expressions.
#include "model/chat_template/builtins/attributes.h"
#include "model/chat_template/builtins/globals.h"
#include "model/chat_template/evaluator.h"
#include "model/chat_template/values/comparison.h"
#include "model/chat_template/values/printed.h"

namespace octlm::model::jinja {

Value Evaluator::evaluate(const Expression& expression, const ScopePtr& scope) {
  const Budget::Level level(runtime_.budget);
  runtime_.budget.step();
  line_ = expression.line;
  switch (expression.kind) {
    case ExpressionKind::kConstant:
      return expression.constant;
    case ExpressionKind::kName:
      return name(expression, scope);
    case ExpressionKind::kCaptured:
      return captured_;
    case ExpressionKind::kTuple:
    case ExpressionKind::kList:
    case ExpressionKind::kDict:
      return display(expression, scope);
    case ExpressionKind::kSlice:
      return slice(expression, scope);
    case ExpressionKind::kCall:
      return call(expression, scope, nullptr);
    case ExpressionKind::kConcat:
      return concatenation(expression, scope);
    case ExpressionKind::kCompare:
      return comparison(expression, scope);
    case ExpressionKind::kConditional:
      if (evaluate(*expression.operands[0], scope).truth())
        return evaluate(*expression.operands[1], scope);
      if (expression.operands[2]) return evaluate(*expression.operands[2], scope);
      return Value::undefined("the inline if-expression evaluated to false and has no else");
    case ExpressionKind::kUnsupported:
      throw UnsupportedError(expression.name);
    default:
      return evaluate_operation(expression, scope);
  }
}

// What starts with its first operand's value.
Value Evaluator::evaluate_operation(const Expression& expression, const ScopePtr& scope) {
  Value value = evaluate(*expression.operands[0], scope);
  switch (expression.kind) {
    case ExpressionKind::kAnd:
      return value.truth() ? evaluate(*expression.operands[1], scope) : value;
    case ExpressionKind::kOr:
      return value.truth() ? value : evaluate(*expression.operands[1], scope);
    case ExpressionKind::kNot:
      return Value::boolean(!value.truth());
    case ExpressionKind::kNegative:
      return negative(value);
    case ExpressionKind::kPositive:
      return positive(value);
    case ExpressionKind::kAttribute:
      line_ = expression.line;
      return attribute(runtime_, value, expression.name);
    case ExpressionKind::kItem: {
      const Value key = evaluate(*expression.operands[1], scope);
      line_ = expression.line;
      return item(runtime_, value, key);
    }
    case ExpressionKind::kArithmetic: {
      const Value right = evaluate(*expression.operands[1], scope);
      line_ = expression.line;
      return arithmetic(runtime_, expression.arithmetic, value, right);
    }
    case ExpressionKind::kFilter: {
      const Arguments given = arguments(expression, scope);
      line_ = expression.line;
      return apply_filter(runtime_,
                          expression.filter ? *expression.filter : find_filter(expression.name),
                          value, given);
    }
    case ExpressionKind::kTest: {
      const Arguments given = arguments(expression, scope);
      line_ = expression.line;
      const Test test = expression.test ? expression.test : find_test(expression.name);
      return Value::boolean(test(runtime_, value, given));
    }
    default:
      break;
  }
  throw std::logic_error("template: an expression of no kind");
}

const Value* Evaluator::find(std::string_view name, const Scope* scope) const {
  for (; scope; scope = scope->outer.get()) {
    if (const Value* found = scope->find(name)) return found;
  }
  return nullptr;
}

Value Evaluator::name(const Expression& expression, const ScopePtr& scope) {
  if (const Value* found = find(expression.name, scope.get())) return *found;
  if (auto found = global(runtime_, expression.name)) return *found;
  return Value::undefined("'" + expression.name + "' is undefined");
}

Value Evaluator::display(const Expression& expression, const ScopePtr& scope) {
  std::vector<Value> items;
  for (const auto& operand : expression.operands) items.push_back(evaluate(*operand, scope));
  line_ = expression.line;
  if (expression.kind != ExpressionKind::kDict) {
    const bool is_list = expression.kind == ExpressionKind::kList;
    return runtime_.sequence(is_list ? SequenceKind::kList : SequenceKind::kTuple, std::move(items),
                             Origin::kTemplate);
  }
  std::vector<std::pair<Value, Value>> entries;
  for (std::size_t i = 0; i < items.size(); i += 2)
    entries.emplace_back(std::move(items[i]), std::move(items[i + 1]));
  return runtime_.dict(std::move(entries), Origin::kTemplate);
}

Value Evaluator::slice(const Expression& expression, const ScopePtr& scope) {
  const Value value = evaluate(*expression.operands[0], scope);
  Value bounds[3];
  for (std::size_t i = 0; i < 3; ++i) {
    if (expression.operands[i + 1]) bounds[i] = evaluate(*expression.operands[i + 1], scope);
  }
  line_ = expression.line;
  return slice_of(runtime_, value, bounds[0], bounds[1], bounds[2]);
}

Value Evaluator::concatenation(const Expression& expression, const ScopePtr& scope) {
  TextBuilder out(runtime_);
  for (const auto& operand : expression.operands) {
    const Value value = evaluate(*operand, scope);
    line_ = expression.line;
    out.append(str(runtime_, value));
  }
  return Value::string(out.take());
}

bool Evaluator::compare(Comparison comparison, const Value& a, const Value& b) {
  switch (comparison) {
    case Comparison::kEqual:
      return equal(runtime_, a, b);
    case Comparison::kUnequal:
      return !equal(runtime_, a, b);
    case Comparison::kLess:
      return order(runtime_, a, b) < 0;
    case Comparison::kAtMost:
      return order(runtime_, a, b) <= 0;
    case Comparison::kGreater:
      return order(runtime_, a, b) > 0;
    case Comparison::kAtLeast:
      return order(runtime_, a, b) >= 0;
    case Comparison::kIn:
      return contains(runtime_, b, a);
    case Comparison::kNotIn:
      return !contains(runtime_, b, a);
  }
  return false;
}

Value Evaluator::comparison(const Expression& expression, const ScopePtr& scope) {
  Value left = evaluate(*expression.operands[0], scope);
  for (std::size_t i = 0; i < expression.comparisons.size(); ++i) {
    Value right = evaluate(*expression.operands[i + 1], scope);
    line_ = expression.line;
    if (!compare(expression.comparisons[i], left, right)) return Value::boolean(false);
    left = std::move(right);
  }
  return Value::boolean(true);
}

Arguments Evaluator::arguments(const Expression& expression, const ScopePtr& scope) {
  Arguments given;
  for (std::size_t i = 1; i < expression.operands.size(); ++i) {
    given.positional.push_back(evaluate(*expression.operands[i], scope));
  }
  for (const auto& [key, value] : expression.named)
    given.named.emplace_back(key, evaluate(*value, scope));
  return given;
}

Value Evaluator::call(const Expression& expression, const ScopePtr& scope, const Value* caller) {
  const Value callee = evaluate(*expression.operands[0], scope);
  Arguments given = arguments(expression, scope);
  if (caller) given.named.emplace_back("caller", *caller);
  line_ = expression.line;
  if (callee.is_undefined()) throw TemplateError(callee.why_undefined());
  if (callee.loop()) throw TemplateError("the loop must have the 'recursive' marker to be called");
  if (!callee.callable())
    throw TemplateError("'" + std::string(callee.type_name()) + "' object is not callable");
  return callee.callable()->call(given);
}

}  // namespace octlm::model::jinja
