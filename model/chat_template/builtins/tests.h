// What follows `is`.
#pragma once

#include <string_view>

#include "model/chat_template/runtime.h"

namespace octlm::model::jinja {

using Test = bool (*)(Runtime& runtime, const Value& value, const Arguments& arguments);

// Throws TemplateError for a name Jinja does not have, UnsupportedError for one that only this
// lacks.
Test find_test(std::string_view name);

}  // namespace octlm::model::jinja
