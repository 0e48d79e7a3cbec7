// Equality, order and membership, as Python decides them.
#pragma once

#include <compare>
#include <cstddef>
#include <optional>

#include "model/chat_template/runtime.h"

namespace octlm::model::jinja {

bool equal(Runtime& runtime, const Value& a, const Value& b);

// a < b, a == b or a > b. Throws TemplateError where Python has no order; unordered when a NaN is
// in it.
std::partial_ordering order(Runtime& runtime, const Value& a, const Value& b);

// item in container.
bool contains(Runtime& runtime, const Value& container, const Value& item);

// The position of the entry. Throws TemplateError for a list or an object as key.
std::optional<std::size_t> find_key(Runtime& runtime, const Dict& dict, const Value& key);
bool is_hashable(const Value& value);

// What a for loop walks: characters, items, keys. Uses an iterator up.
// Throws TemplateError for what cannot be iterated.
std::vector<Value> items_of(Runtime& runtime, const Value& value);

}  // namespace octlm::model::jinja
