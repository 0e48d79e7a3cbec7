#include "model/chat_template/builtins/arguments.h"

namespace octlm::model::jinja {
namespace {

[[noreturn]] void refuse(std::string_view function, const std::string& what) {
  throw TemplateError(std::string(function) + ": " + what);
}

}  // namespace

std::vector<const Value*> bind(std::string_view function, const Arguments& arguments,
                               std::initializer_list<std::string_view> parameters) {
  std::vector<const Value*> bound(parameters.size(), nullptr);
  if (arguments.positional.size() > parameters.size()) {
    refuse(function, "takes " + std::to_string(parameters.size()) + " arguments, not " +
                         std::to_string(arguments.positional.size()));
  }
  for (std::size_t i = 0; i < arguments.positional.size(); ++i) bound[i] = &arguments.positional[i];
  for (const auto& [name, value] : arguments.named) {
    std::size_t at = 0;
    for (const std::string_view parameter : parameters) {
      if (parameter == name) break;
      ++at;
    }
    if (at == parameters.size()) refuse(function, "unexpected keyword argument '" + name + "'");
    if (bound[at]) refuse(function, "argument '" + name + "' is given twice");
    bound[at] = &value;
  }
  return bound;
}

const Text& string_of(std::string_view function, const Value& value) {
  if (value.is_undefined()) throw TemplateError(value.why_undefined());
  if (!value.string())
    refuse(function, "needs a string, not '" + std::string(value.type_name()) + "'");
  return *value.string();
}

std::int64_t integer_of(std::string_view function, const Value& value) {
  if (value.is_undefined()) throw TemplateError(value.why_undefined());
  if (!value.integer())
    refuse(function, "needs an integer, not '" + std::string(value.type_name()) + "'");
  return *value.integer();
}

bool truth_of(const Value* value, bool otherwise) { return value ? value->truth() : otherwise; }

}  // namespace octlm::model::jinja
