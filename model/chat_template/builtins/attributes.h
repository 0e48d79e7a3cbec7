// value.name and value[key], with Jinja's order of search: the attribute first for a dot, the item
// first for brackets. Only what is listed here exists: the sandbox has no other way out of a value.
// Methods that would change a list or an object are undefined, as in Transformers' immutable
// sandbox.
#pragma once

#include <string_view>

#include "model/chat_template/runtime.h"

namespace octlm::model::jinja {

Value attribute(Runtime& runtime, const Value& value, std::string_view name);
Value item(Runtime& runtime, const Value& value, const Value& key);

// value[start:stop:step]; None where a bound was left out.
Value slice_of(Runtime& runtime, const Value& value, const Value& start, const Value& stop,
               const Value& step);

// len(value). Throws TemplateError for what has none.
std::int64_t length(const Value& value);

}  // namespace octlm::model::jinja
