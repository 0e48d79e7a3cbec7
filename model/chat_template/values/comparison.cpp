#include "model/chat_template/values/comparison.h"

#include <algorithm>
#include <cmath>

#include "model/chat_template/values/text_pieces.h"
#include "model/chat_template/values/unicode.h"

namespace octlm::model::jinja {
namespace {

// An int64 and a double, compared exactly: 2^53 + 1 is not 2^53.
std::partial_ordering order(std::int64_t a, double b) {
  if (std::isnan(b)) return std::partial_ordering::unordered;
  if (b >= 9223372036854775808.0) return std::partial_ordering::less;
  if (b < -9223372036854775808.0) return std::partial_ordering::greater;
  const auto whole = static_cast<std::int64_t>(b);
  if (a != whole) return a <=> whole;
  return 0.0 <=> b - static_cast<double>(whole);
}

std::partial_ordering order_numbers(const Value& a, const Value& b) {
  if (a.real() && b.real()) return *a.real() <=> *b.real();
  if (a.real()) return 0 <=> order(*b.integer(), *a.real());
  if (b.real()) return order(*a.integer(), *b.real());
  return *a.integer() <=> *b.integer();
}

bool equal_items(Runtime& runtime, const std::vector<Value>& a, const std::vector<Value>& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!equal(runtime, a[i], b[i])) return false;
  }
  return true;
}

bool equal_entries(Runtime& runtime, const Dict& a, const Dict& b) {
  if (a.entries.size() != b.entries.size()) return false;
  for (const auto& [key, value] : a.entries) {
    const auto at = find_key(runtime, b, key);
    if (!at || !equal(runtime, value, b.entries[*at].second)) return false;
  }
  return true;
}

bool is_ordered_sequence(const Sequence& sequence) {
  return sequence.kind == SequenceKind::kList || sequence.kind == SequenceKind::kTuple;
}

}  // namespace

bool equal(Runtime& runtime, const Value& a, const Value& b) {
  const Budget::Level level(runtime.budget);
  runtime.budget.step();
  if (a.is_undefined() || b.is_undefined()) return a.is_undefined() && b.is_undefined();
  if (a.is_none() || b.is_none()) return a.is_none() && b.is_none();
  if (a.big_integer() || b.big_integer()) {
    if (a.real() || b.real()) throw UnsupportedError("comparing an integer of more than 64 bits");
    return a.big_integer() && b.big_integer() && a.big_integer()->digits == b.big_integer()->digits;
  }
  if (a.is_number() && b.is_number()) return order_numbers(a, b) == 0;
  if (a.string() && b.string()) {
    runtime.budget.step(a.string()->text().size() / 64);
    return a.string()->text() == b.string()->text();
  }
  if (a.sequence() && b.sequence()) {
    if (a.sequence() == b.sequence()) return true;
    if (a.sequence()->kind != b.sequence()->kind) return false;
    if (is_ordered_sequence(*a.sequence()) || a.sequence()->kind == SequenceKind::kRange) {
      return equal_items(runtime, a.sequence()->items, b.sequence()->items);
    }
    if (a.sequence()->kind == SequenceKind::kKeys || a.sequence()->kind == SequenceKind::kItems) {
      throw UnsupportedError("comparing " + std::string(a.type_name()));
    }
    return false;
  }
  if (a.dict() && b.dict())
    return a.dict() == b.dict() || equal_entries(runtime, *a.dict(), *b.dict());
  if (a.as_namespace() || b.as_namespace()) return a.as_namespace() == b.as_namespace();
  if (a.loop() || b.loop()) return a.loop() == b.loop();
  if (a.callable() && b.callable()) throw UnsupportedError("comparing functions");
  return false;
}

std::partial_ordering order(Runtime& runtime, const Value& a, const Value& b) {
  const Budget::Level level(runtime.budget);
  runtime.budget.step();
  for (const Value* side : {&a, &b}) {
    if (side->is_undefined()) throw TemplateError(side->why_undefined());
    if (side->big_integer()) throw UnsupportedError("comparing an integer of more than 64 bits");
  }
  if (a.is_number() && b.is_number()) return order_numbers(a, b);
  if (a.string() && b.string()) {  // UTF-8's order is that of the code points
    runtime.budget.step(std::min(a.string()->text().size(), b.string()->text().size()) / 64);
    return a.string()->text().compare(b.string()->text()) <=> 0;
  }
  const Sequence* left = a.sequence();
  const Sequence* right = b.sequence();
  if (left && right && left->kind == right->kind && is_ordered_sequence(*left)) {
    for (std::size_t i = 0; i < std::min(left->items.size(), right->items.size()); ++i) {
      if (!equal(runtime, left->items[i], right->items[i])) {
        return order(runtime, left->items[i], right->items[i]);
      }
    }
    return left->items.size() <=> right->items.size();
  }
  throw TemplateError("'" + std::string(a.type_name()) + "' and '" + std::string(b.type_name()) +
                      "' have no order");
}

bool contains(Runtime& runtime, const Value& container, const Value& item) {
  if (const Text* text = container.string()) {
    if (item.is_undefined()) throw TemplateError(item.why_undefined());
    if (!item.string()) {
      throw TemplateError("'in <string>' needs a string, not '" + std::string(item.type_name()) +
                          "'");
    }
    runtime.budget.step(text->text().size() / 64);
    return find_first(text->text(), item.string()->text()) != std::string::npos;
  }
  if (const Dict* dict = container.dict()) return find_key(runtime, *dict, item).has_value();
  if (container.is_undefined()) return false;
  if (const Sequence* sequence = container.sequence()) {
    std::size_t from_the_start = 0;  // an iterator goes on from where it is
    std::size_t& at = sequence->kind == SequenceKind::kIterator ? sequence->next : from_the_start;
    while (at < sequence->items.size()) {
      if (equal(runtime, item, sequence->items[at++])) return true;
    }
    return false;
  }
  throw TemplateError("'" + std::string(container.type_name()) + "' is no container");
}

bool is_hashable(const Value& value) {
  if (value.dict()) return false;
  if (const Sequence* sequence = value.sequence()) {
    if (sequence->kind == SequenceKind::kTuple) {
      return std::ranges::all_of(sequence->items, is_hashable);
    }
    return sequence->kind == SequenceKind::kRange || sequence->kind == SequenceKind::kIterator ||
           sequence->kind == SequenceKind::kValues;
  }
  return true;
}

std::optional<std::size_t> find_key(Runtime& runtime, const Dict& dict, const Value& key) {
  runtime.budget.step();
  if (const Text* text = key.string()) {
    runtime.budget.step(text->text().size() / 64);
    const auto found = dict.by_text.find(text->text());
    if (found == dict.by_text.end()) return std::nullopt;
    return found->second;
  }
  if (!is_hashable(key)) {
    throw TemplateError("unhashable type: '" + std::string(key.type_name()) + "'");
  }
  if (dict.by_text.size() == dict.entries.size()) return std::nullopt;  // string keys only
  for (std::size_t i = 0; i < dict.entries.size(); ++i) {
    if (!dict.entries[i].first.string() && equal(runtime, dict.entries[i].first, key)) return i;
  }
  return std::nullopt;
}

std::vector<Value> items_of(Runtime& runtime, const Value& value) {
  if (value.is_undefined()) return {};
  std::vector<Value> items;
  if (const Text* text = value.string()) {
    const std::string& bytes = text->text();
    runtime.budget.bytes(bytes.size() * sizeof(Value));
    for (std::size_t at = 0; at < bytes.size();) {
      const std::size_t end = at + length_at(bytes, at);
      items.push_back(Value::string(slice(runtime, *text, at, end)));
      at = end;
    }
  } else if (const Sequence* sequence = value.sequence()) {
    const bool walks_once = sequence->kind == SequenceKind::kIterator;
    const std::size_t first = walks_once ? sequence->next : 0;
    runtime.budget.bytes((sequence->items.size() - first) * sizeof(Value));
    items.assign(sequence->items.begin() + static_cast<std::ptrdiff_t>(first),
                 sequence->items.end());
    if (walks_once) sequence->next = sequence->items.size();
  } else if (const Dict* dict = value.dict()) {
    runtime.budget.bytes(dict->entries.size() * sizeof(Value));
    for (const auto& entry : dict->entries) items.push_back(entry.first);
  } else if (value.loop()) {
    throw UnsupportedError("walking the loop variable");
  } else {
    throw TemplateError("'" + std::string(value.type_name()) + "' object is not iterable");
  }
  runtime.budget.step(items.size());
  return items;
}

}  // namespace octlm::model::jinja
