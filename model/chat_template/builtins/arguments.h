// What a built-in function was called with, sorted into its parameters.
#pragma once

#include <initializer_list>
#include <optional>
#include <string_view>
#include <vector>

#include "model/chat_template/runtime.h"

namespace octlm::model::jinja {

// arguments[i] is that of parameter i, nullptr if it was left out. A parameter whose name starts
// with '/' is taken by position only. Throws TemplateError when there are too many, one twice, or
// an unknown name.
std::vector<const Value*> bind(std::string_view function, const Arguments& arguments,
                               std::initializer_list<std::string_view> parameters);

// Throw TemplateError that names the function.
const Text& string_of(std::string_view function, const Value& value);
std::int64_t integer_of(std::string_view function, const Value& value);
// `otherwise` when the argument was left out.
bool truth_of(const Value* value, bool otherwise);

}  // namespace octlm::model::jinja
