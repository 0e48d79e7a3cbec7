// A value as text: Python's str() and repr(), and json.dumps().
#pragma once

#include <optional>
#include <string>

#include "model/chat_template/runtime.h"

namespace octlm::model::jinja {

// repr(float): the shortest digits that read back as the same number; "1e+16", "inf", "nan".
std::string float_text(double value);

// str(value). The text of a string keeps its origin byte for byte; the rest has the value's.
Text str(Runtime& runtime, const Value& value);
Text repr(Runtime& runtime, const Value& value);

struct JsonStyle {
  bool ensure_ascii = false;
  std::optional<Text> indent;  // one level of it
  std::optional<Text> item_separator;
  std::optional<Text> key_separator;
  bool sort_keys = false;
};
// json.dumps(value, ...), which Transformers puts in place of Jinja's own tojson.
// Throws TemplateError for what is not serialisable.
Text json(Runtime& runtime, const Value& value, const JsonStyle& style);

}  // namespace octlm::model::jinja
