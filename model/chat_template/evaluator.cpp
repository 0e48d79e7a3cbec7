// Statements and macros. A block that has a scope of its own in Jinja (a loop's
// iteration, a macro, set, filter, with, generation) gets one here; `if` has none. An assignment
// goes into the innermost scope.
#include "model/chat_template/evaluator.h"

#include <utility>

#include "model/chat_template/loop.h"
#include "model/chat_template/values/comparison.h"
#include "model/chat_template/values/printed.h"

namespace octlm::model::jinja {
namespace {

std::shared_ptr<Scope> inside(const std::shared_ptr<Scope>& outer) {
  return std::make_shared<Scope>(Scope{{}, outer});
}

// The scope that the body starts with.
std::shared_ptr<Scope> inside(const std::shared_ptr<Scope>& outer, const Body& body) {
  auto scope = inside(outer);
  for (const std::string& name : body.hidden)
    scope->set(name, Value::undefined("'" + name + "' is undefined"));
  return scope;
}

}  // namespace

Text Evaluator::render(const Body& body, const std::shared_ptr<Scope>& given) {
  TextBuilder out(runtime_);
  out_ = &out;
  run(body, inside(given, body));
  return out.take();
}

Evaluator::Flow Evaluator::run(const Body& body, const ScopePtr& scope) {
  for (const auto& statement : body.statements) {
    const Flow flow = run(*statement, scope);
    if (flow != Flow::kOn) return flow;
  }
  return Flow::kOn;
}

Evaluator::Flow Evaluator::run(const Statement& statement, const ScopePtr& scope) {
  const Budget::Level level(runtime_.budget);
  runtime_.budget.step();
  line_ = statement.line;
  switch (statement.kind) {
    case StatementKind::kData:
      out_->append(statement.text);
      break;
    case StatementKind::kOutput:
      for (const auto& expression : statement.expressions) output(evaluate(*expression, scope));
      break;
    case StatementKind::kIf:
      return run_if(statement, scope);
    case StatementKind::kFor:
      return run_for(statement, scope);
    case StatementKind::kSet:
      run_set(statement, scope);
      break;
    case StatementKind::kSetBlock:
      return run_set_block(statement, scope);
    case StatementKind::kMacro:
      scope->set(statement.macro->name, macro(*statement.macro, scope));
      break;
    case StatementKind::kCallBlock:
      run_call_block(statement, scope);
      break;
    case StatementKind::kFilterBlock:
      return run_filter_block(statement, scope);
    case StatementKind::kWith:
      return run_with(statement, scope);
    case StatementKind::kGeneration:
      return run(statement.bodies[0], inside(scope, statement.bodies[0]));
    case StatementKind::kBreak:
      return Flow::kBreak;
    case StatementKind::kContinue:
      return Flow::kContinue;
    case StatementKind::kUnsupported:
      throw UnsupportedError(statement.text.text());
  }
  return Flow::kOn;
}

void Evaluator::output(const Value& value) {
  if (const Text* text = value.string()) {
    out_->append(*text);
  } else {
    out_->append(str(runtime_, value));
  }
}

Evaluator::Flow Evaluator::run_if(const Statement& statement, const ScopePtr& scope) {
  for (std::size_t i = 0; i < statement.expressions.size(); ++i) {
    if (evaluate(*statement.expressions[i], scope).truth()) return run(statement.bodies[i], scope);
  }
  const bool has_else = statement.bodies.size() > statement.expressions.size();
  return has_else ? run(statement.bodies.back(), scope) : Flow::kOn;
}

Evaluator::Flow Evaluator::run_for(const Statement& statement, const ScopePtr& scope) {
  const Target& target = statement.targets[0];
  const auto loop = std::make_shared<LoopState>();
  loop->items = items_of(runtime_, evaluate(*statement.expressions[0], scope));
  for (const Value& item : loop->items) loop->depth = std::max(loop->depth, item.depth());
  ++loop->depth;
  runtime_.budget.value_depth(loop->depth);
  if (statement.expressions.size() > 1) {
    loop->accepts = [this, &statement, &target, scope](const Value& item) {
      const ScopePtr asking = inside(scope);
      assign(target, item, asking);
      return evaluate(*statement.expressions[1], asking).truth();
    };
  }
  const Value loop_value(Value::Data(loop), Origin::kUser);
  bool completed = false;  // Jinja runs the else unless some turn came to its end
  while (loop->advance()) {
    runtime_.budget.step();
    const ScopePtr turn = inside(scope, statement.bodies[0]);
    turn->set("loop", loop_value);
    assign(target, *loop->current, turn);
    const Flow flow = run(statement.bodies[0], turn);
    if (flow == Flow::kBreak) break;
    completed = completed || flow == Flow::kOn;
  }
  loop->accepts = nullptr;
  if (!completed && statement.bodies.size() > 1)
    return run(statement.bodies[1], inside(scope, statement.bodies[1]));
  return Flow::kOn;
}

void Evaluator::run_set(const Statement& statement, const ScopePtr& scope) {
  const Value value = evaluate(*statement.expressions[0], scope);
  line_ = statement.line;
  assign(statement.targets[0], value, scope);
}

Value Evaluator::capture(const Body& body, const ScopePtr& scope, Flow& flow) {
  TextBuilder caught(runtime_);
  TextBuilder* const around = std::exchange(out_, &caught);
  flow = run(body, scope);
  out_ = around;
  return Value::string(caught.take());
}

Evaluator::Flow Evaluator::run_set_block(const Statement& statement, const ScopePtr& scope) {
  Flow flow = Flow::kOn;
  const ScopePtr block = inside(scope, statement.bodies[0]);
  Value text = capture(statement.bodies[0], block, flow);
  if (flow != Flow::kOn) return flow;  // left before its end: nothing is assigned
  if (!statement.expressions.empty()) {
    captured_ = std::move(text);
    text = evaluate(*statement.expressions[0], block);
  }
  assign(statement.targets[0], text, scope);
  return Flow::kOn;
}

Evaluator::Flow Evaluator::run_filter_block(const Statement& statement, const ScopePtr& scope) {
  Flow flow = Flow::kOn;
  const ScopePtr block = inside(scope, statement.bodies[0]);
  captured_ = capture(statement.bodies[0], block, flow);
  if (flow == Flow::kOn) output(evaluate(*statement.expressions[0], block));
  return flow;
}

void Evaluator::run_call_block(const Statement& statement, const ScopePtr& scope) {
  const Value caller = macro(*statement.macro, scope);
  output(call(*statement.expressions[0], scope, &caller));
}

Evaluator::Flow Evaluator::run_with(const Statement& statement, const ScopePtr& scope) {
  const ScopePtr block = inside(scope, statement.bodies[0]);
  for (std::size_t i = 0; i < statement.targets.size(); ++i) {
    assign(statement.targets[i], evaluate(*statement.expressions[i], scope), block);
  }
  return run(statement.bodies[0], block);
}

void Evaluator::assign(const Target& target, const Value& value, const ScopePtr& scope) {
  if (target.is_tuple) {
    const auto items = items_of(runtime_, value);
    if (items.size() != target.parts.size()) {
      throw TemplateError("expected " + std::to_string(target.parts.size()) +
                          " values to unpack, found " + std::to_string(items.size()));
    }
    for (std::size_t i = 0; i < items.size(); ++i) assign(target.parts[i], items[i], scope);
    return;
  }
  if (target.member.empty()) return scope->set(target.name, value);
  const Value* owner = find(target.name, scope.get());
  if (!owner || !owner->as_namespace())
    throw TemplateError("cannot assign attribute on non-namespace object");
  owner->as_namespace()->set(target.member, value);
}

Value Evaluator::macro(const Macro& macro, const ScopePtr& scope) {
  runtime_.keep(scope);
  return runtime_.function(macro.name, [this, &macro, scope = scope.get()](Arguments& arguments) {
    // The runtime keeps the scope for as long as anything can call this.
    return run_macro(macro, ScopePtr(ScopePtr(), scope), arguments);
  });
}

Value Evaluator::run_macro(const Macro& macro, const ScopePtr& scope, Arguments& arguments) {
  const Budget::Level level(runtime_.budget);
  const ScopePtr body = inside(scope, macro.body);
  bind_parameters(macro, body, arguments);
  Flow flow = Flow::kOn;
  return capture(macro.body, body, flow);
}

void Evaluator::bind_parameters(const Macro& macro, const ScopePtr& inside, Arguments& arguments) {
  const std::size_t count = macro.parameters.size();
  auto& [positional, named] = arguments;
  if (positional.size() > count && !macro.uses_varargs) {
    throw TemplateError("macro '" + macro.name + "' takes not more than " + std::to_string(count) +
                        " argument(s)");
  }
  std::vector<std::size_t> left_out;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string& parameter = macro.parameters[i];
    const auto found = std::find_if(named.begin(), named.end(),
                                    [&](const auto& one) { return one.first == parameter; });
    if (i < positional.size()) {
      inside->set(parameter, positional[i]);
    } else if (found != named.end()) {
      inside->set(parameter, found->second);
      named.erase(found);
    } else {
      left_out.push_back(i);
    }
  }
  if (macro.uses_caller) {
    const auto found = std::find_if(named.begin(), named.end(),
                                    [](const auto& one) { return one.first == "caller"; });
    inside->set("caller",
                found == named.end() ? Value::undefined("No caller defined") : found->second);
    if (found != named.end()) named.erase(found);
  }
  if (!named.empty() && !macro.uses_kwargs) {
    throw TemplateError("macro '" + macro.name + "' takes no keyword argument '" + named[0].first +
                        "'");
  }
  if (macro.uses_kwargs) {
    std::vector<std::pair<Value, Value>> entries;
    for (auto& [key, value] : named) entries.emplace_back(Value::literal(key), std::move(value));
    inside->set("kwargs", runtime_.dict(std::move(entries)));
  }
  if (macro.uses_varargs) {
    const std::size_t first = std::min(count, positional.size());
    inside->set("varargs",
                runtime_.sequence(
                    SequenceKind::kTuple,
                    {positional.begin() + static_cast<std::ptrdiff_t>(first), positional.end()}));
  }
  const std::size_t first_default = count - macro.defaults.size();
  for (const std::size_t i : left_out) {
    inside->set(macro.parameters[i],
                i >= first_default
                    ? evaluate(*macro.defaults[i - first_default], inside)
                    : Value::undefined("parameter '" + macro.parameters[i] + "' was not provided"));
  }
}

}  // namespace octlm::model::jinja
