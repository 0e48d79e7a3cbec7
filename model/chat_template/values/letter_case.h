// Python's upper(), lower(), title() and capitalize() of a text.
#pragma once

#include "model/chat_template/runtime.h"

namespace octlm::model::jinja {

Text upper(Runtime& runtime, const Text& text);
Text lower(Runtime& runtime, const Text& text);
Text capitalized(Runtime& runtime, const Text& text);
Text titled(Runtime& runtime, const Text& text);  // str.title
// Jinja's own |title: words start after white space and any of - ( { [ <.
Text titled_by_jinja(Runtime& runtime, const Text& text);

bool is_upper(const Text& text);
bool is_lower(const Text& text);

}  // namespace octlm::model::jinja
