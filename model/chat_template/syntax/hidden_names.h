// Jinja decides while it compiles what a name means in a block: a name that a block assigns before
// it reads it, and that no block around it mentions, starts out undefined there, even when the chat
// gave a variable of that name. (`{% macro m() %}{{ tools }}{% endmacro %}{% set tools = [] %}`: m
// never sees the given tools.)
#pragma once

#include "model/chat_template/syntax/syntax.h"

namespace octlm::model::jinja {

// Fills in Body::hidden throughout the template.
void find_hidden_names(Body& whole);

}  // namespace octlm::model::jinja
