// The methods of Python's str, on texts that know who wrote them. What a method cuts out keeps its origin;
// a changed case keeps that of the character it was made from.
#pragma once

#include <string_view>

#include "model/chat_template/runtime.h"

namespace octlm::model::jinja {

using StringMethod = Value (*)(Runtime& runtime, const Text& self, const Arguments& arguments);

// nullptr when str has no such method. One that is not implemented here throws UnsupportedError.
StringMethod find_string_method(std::string_view name);

// The pieces that filters share with the methods. `chars` empty: white space.
Text stripped(Runtime& runtime, const Text& text, const Text* chars, bool left, bool right);
Text replaced(Runtime& runtime, const Text& text, const Text& old, const Text& by, std::int64_t count);
Text joined(Runtime& runtime, const Text& separator, const std::vector<Text>& pieces);
std::vector<Text> split_lines(Runtime& runtime, const Text& text, bool keep_ends);

}  // namespace octlm::model::jinja
