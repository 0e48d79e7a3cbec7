#include "model/chat_template/values/value.h"

#include "model/chat_template/loop.h"

namespace octlm::model::jinja {

Value Value::undefined(std::string why) {
  return {Data(Undefined{std::make_shared<const std::string>(std::move(why))}), Origin::kUser};
}

Value Value::string(Text text) {
  return {Data(std::make_shared<const Text>(std::move(text))), Origin::kUser};
}

Value Value::literal(std::string_view text) {
  Text written;
  written.append(text, Origin::kTemplate);
  return string(std::move(written));
}

Value Value::big_integer(std::string digits, Origin origin) {
  return {Data(std::make_shared<const BigInteger>(BigInteger{std::move(digits)})), origin};
}

const BigInteger* Value::big_integer() const {
  const auto* found = std::get_if<std::shared_ptr<const BigInteger>>(&data_);
  return found ? found->get() : nullptr;
}

std::optional<std::int64_t> Value::integer() const {
  if (const auto* number = std::get_if<std::int64_t>(&data_)) return *number;
  if (const auto* flag = std::get_if<bool>(&data_)) return *flag ? 1 : 0;
  return std::nullopt;
}

const Text* Value::string() const {
  const auto* found = std::get_if<std::shared_ptr<const Text>>(&data_);
  return found ? found->get() : nullptr;
}

const Sequence* Value::sequence() const {
  const auto* found = std::get_if<std::shared_ptr<const Sequence>>(&data_);
  return found ? found->get() : nullptr;
}

const Sequence* Value::sequence(SequenceKind kind) const {
  const Sequence* found = sequence();
  return found && found->kind == kind ? found : nullptr;
}

const Dict* Value::dict() const {
  const auto* found = std::get_if<std::shared_ptr<const Dict>>(&data_);
  return found ? found->get() : nullptr;
}

Namespace* Value::as_namespace() const {
  const auto* found = std::get_if<std::shared_ptr<Namespace>>(&data_);
  return found ? found->get() : nullptr;
}

const Callable* Value::callable() const {
  const auto* found = std::get_if<std::shared_ptr<const Callable>>(&data_);
  return found ? found->get() : nullptr;
}

LoopState* Value::loop() const {
  const auto* found = std::get_if<std::shared_ptr<LoopState>>(&data_);
  return found ? found->get() : nullptr;
}

Origin Value::origin() const {
  if (const Text* text = string()) {
    return text->from_template(0, text->text().size()) ? Origin::kTemplate : Origin::kUser;
  }
  return origin_;
}

Value Value::as_markup() const {
  Value marked = *this;
  marked.markup_ = true;
  return marked;
}

int Value::depth() const {
  if (const auto* items = sequence()) return items->depth;
  if (const auto* members = dict()) return members->depth;
  if (const auto* function = callable()) return function->depth;
  if (const auto* state = loop()) return state->depth;
  return 0;
}

bool Value::truth() const {
  if (is_undefined() || is_none()) return false;
  if (const auto* number = real()) return *number != 0.0;
  if (const auto number = integer()) return *number != 0;
  if (const Text* text = string()) return !text->text().empty();
  if (const auto* items = sequence()) {
    return items->kind == SequenceKind::kIterator || !items->items.empty();
  }
  if (const auto* members = dict()) return !members->entries.empty();
  return true;
}

std::string_view Value::type_name() const {
  if (is_undefined()) return "Undefined";
  if (is_none()) return "NoneType";
  if (boolean()) return "bool";
  if (integer() || big_integer()) return "int";
  if (real()) return "float";
  if (string()) return "str";
  if (dict()) return "dict";
  if (as_namespace()) return "Namespace";
  if (callable()) return "function";
  if (loop()) return "LoopContext";
  switch (sequence()->kind) {
    case SequenceKind::kList:
      return "list";
    case SequenceKind::kTuple:
      return "tuple";
    case SequenceKind::kRange:
      return "range";
    case SequenceKind::kKeys:
      return "dict_keys";
    case SequenceKind::kValues:
      return "dict_values";
    case SequenceKind::kItems:
      return "dict_items";
    case SequenceKind::kIterator:
      return "generator";
  }
  return "?";
}

const Value* Namespace::find(std::string_view name) const {
  for (const auto& [key, value] : members) {
    if (key == name) return &value;
  }
  return nullptr;
}

void Namespace::set(std::string_view name, Value value) {
  for (auto& [key, old] : members) {
    if (key == name) {
      old = std::move(value);
      return;
    }
  }
  members.emplace_back(name, std::move(value));
}

}  // namespace octlm::model::jinja
