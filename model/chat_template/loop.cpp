#include "model/chat_template/loop.h"

#include <algorithm>

#include "model/chat_template/values/comparison.h"

namespace octlm::model::jinja {

std::optional<Value> LoopState::draw() {
  while (drawn < items.size()) {
    const Value& candidate = items[drawn++];
    if (!accepts || accepts(candidate)) return candidate;
  }
  return std::nullopt;
}

bool LoopState::advance() {
  std::optional<Value> next;
  if (!ahead.empty()) {
    next = std::move(ahead.back());
    ahead.pop_back();
  } else {
    next = draw();
  }
  if (!next) return false;
  ++index0;
  before = std::move(current);
  current = std::move(next);
  return true;
}

const Value* LoopState::peek() {
  if (ahead.empty()) {
    auto next = draw();
    if (!next) return nullptr;
    ahead.push_back(std::move(*next));
  }
  return &ahead.back();
}

std::int64_t LoopState::length() {
  if (!accepts) return std::ssize(items);
  std::vector<Value> rest(ahead.rbegin(), ahead.rend());
  while (auto next = draw()) rest.push_back(std::move(*next));
  ahead.assign(rest.rbegin(), rest.rend());
  return index0 + 1 + std::ssize(ahead);
}

std::optional<Value> loop_attribute(Runtime& runtime, const Value& loop, std::string_view name) {
  LoopState& state = *loop.loop();
  const auto number = [](std::int64_t value) { return Value::integer(value, Origin::kTemplate); };
  const auto flag = [](bool value) { return Value::boolean(value, Origin::kTemplate); };
  if (name == "index") return number(state.index0 + 1);
  if (name == "index0") return number(state.index0);
  if (name == "revindex") return number(state.length() - state.index0);
  if (name == "revindex0") return number(state.length() - state.index0 - 1);
  if (name == "first") return flag(state.index0 == 0);
  if (name == "last") return flag(state.peek() == nullptr);
  if (name == "length") return number(state.length());
  if (name == "depth") return number(1);  // a recursive loop is refused
  if (name == "depth0") return number(0);
  if (name == "previtem") {
    return state.before ? *state.before : Value::undefined("there is no previous item");
  }
  if (name == "nextitem") {
    const Value* next = state.peek();
    return next ? *next : Value::undefined("there is no next item");
  }
  if (name == "cycle") {
    return runtime.function(
        "cycle",
        [loop](Arguments& arguments) {
          if (arguments.positional.empty()) throw TemplateError("no items for cycling given");
          const auto at =
              static_cast<std::size_t>(loop.loop()->index0) % arguments.positional.size();
          return arguments.positional[at];
        },
        state.depth + 1);
  }
  if (name == "changed") {
    return runtime.function(
        "changed",
        [&runtime, loop](Arguments& arguments) {
          Value now = runtime.sequence(SequenceKind::kTuple, std::move(arguments.positional));
          auto& last = loop.loop()->changed_value;
          if (!last) runtime.at_end([loop] { loop.loop()->changed_value.reset(); });
          const bool changed = !last || !equal(runtime, *last, now);
          if (changed) last = std::move(now);
          return Value::boolean(changed);
        },
        state.depth + 1);
  }
  return std::nullopt;
}

}  // namespace octlm::model::jinja
