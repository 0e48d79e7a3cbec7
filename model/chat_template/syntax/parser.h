// Template source to a tree.
#pragma once

#include <string_view>

#include "model/chat_template/syntax/syntax.h"

namespace octlm::model::jinja {

// Throws SyntaxMistake (lexer.h).
Body parse(std::string_view source);

}  // namespace octlm::model::jinja
