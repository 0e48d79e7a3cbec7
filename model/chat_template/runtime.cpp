#include "model/chat_template/runtime.h"

#include <algorithm>

#include "model/chat_template/values/comparison.h"

namespace octlm::model::jinja {
namespace {

int depth_around(const std::vector<Value>& items) {
  int depth = 0;
  for (const Value& item : items) depth = std::max(depth, item.depth());
  return depth + 1;
}

}  // namespace

Runtime::~Runtime() {
  for (const auto& members : namespaces_) members->members.clear();
  for (const auto& scope : scopes_) scope->variables.clear();
  for (const auto& cleanup : cleanups_) cleanup();
}

Value Runtime::new_namespace(std::vector<std::pair<std::string, Value>> members) {
  budget.bytes(sizeof(Namespace) + members.size() * sizeof(members[0]));
  namespaces_.push_back(std::make_shared<Namespace>(Namespace{std::move(members)}));
  return {Value::Data(namespaces_.back()), Origin::kUser};
}

void Runtime::keep(std::shared_ptr<Scope> scope) {
  if (!scopes_.empty() && scopes_.back() == scope) return;
  budget.bytes(sizeof(Scope));
  scopes_.push_back(std::move(scope));
}

void Runtime::at_end(std::function<void()> cleanup) {
  budget.bytes(sizeof cleanup);
  cleanups_.push_back(std::move(cleanup));
}

Value Runtime::sequence(SequenceKind kind, std::vector<Value> items, Origin origin) {
  budget.step(items.size());
  budget.bytes(sizeof(Sequence) + items.size() * sizeof(Value));
  const int depth = depth_around(items);
  budget.value_depth(depth);
  return {Value::Data(std::make_shared<const Sequence>(Sequence{kind, std::move(items), depth})),
          origin};
}

Value Runtime::dict(std::vector<std::pair<Value, Value>> entries, Origin origin) {
  budget.step(entries.size());
  budget.bytes(sizeof(Dict) + entries.size() * (2 * sizeof(Value) + 64));
  auto made = std::make_shared<Dict>();
  int depth = 0;
  for (auto& [key, value] : entries) {
    depth = std::max({depth, key.depth(), value.depth()});
    if (const auto at = find_key(*this, *made, key)) {
      made->entries[*at].second = std::move(value);
      continue;
    }
    if (const Text* text = key.string()) made->by_text.emplace(text->text(), made->entries.size());
    made->entries.emplace_back(std::move(key), std::move(value));
  }
  made->depth = depth + 1;
  budget.value_depth(made->depth);
  return {Value::Data(std::shared_ptr<const Dict>(std::move(made))), origin};
}

Value Runtime::function(std::string name, std::function<Value(Arguments&)> call, int depth) {
  budget.bytes(sizeof(Callable));
  budget.value_depth(depth);
  return {Value::Data(
              std::make_shared<const Callable>(Callable{std::move(name), std::move(call), depth})),
          Origin::kUser};
}

const Value* Scope::find(std::string_view name) const {
  for (const auto& [key, value] : variables) {
    if (key == name) return &value;
  }
  return nullptr;
}

void Scope::set(std::string_view name, Value value) {
  for (auto& [key, old] : variables) {
    if (key == name) {
      old = std::move(value);
      return;
    }
  }
  variables.emplace_back(name, std::move(value));
}

void TextBuilder::append(const Text& text, std::size_t begin, std::size_t end) {
  for_each_run(text, begin, end,
               [&](std::string_view bytes, Origin origin) { append(bytes, origin); });
}

Text slice(Runtime& runtime, const Text& text, std::size_t begin, std::size_t end) {
  TextBuilder piece(runtime);
  piece.append(text, begin, end);
  return piece.take();
}

}  // namespace octlm::model::jinja
