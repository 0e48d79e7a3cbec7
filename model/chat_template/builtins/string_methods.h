// The methods of Python's str, on texts that know who wrote them. What a method cuts out keeps its
// origin; a changed case keeps that of the character it was made from.
#pragma once

#include <string_view>

#include "model/chat_template/runtime.h"

namespace octlm::model::jinja {

using StringMethod = Value (*)(Runtime& runtime, const Text& self, const Arguments& arguments);

// nullptr when str has no such method. One that is not implemented here throws UnsupportedError.
StringMethod find_string_method(std::string_view name);

}  // namespace octlm::model::jinja
