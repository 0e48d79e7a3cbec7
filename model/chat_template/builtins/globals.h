// The names that exist without being given: range, dict, namespace, raise_exception, strftime_now.
#pragma once

#include <optional>
#include <string_view>

#include "model/chat_template/runtime.h"

namespace octlm::model::jinja {

// nullopt for a name Jinja does not have; throws UnsupportedError for one that only this lacks.
std::optional<Value> global(Runtime& runtime, std::string_view name);

}  // namespace octlm::model::jinja
