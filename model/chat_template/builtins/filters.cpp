// The list of Jinja's filters.
#include "model/chat_template/builtins/filters.h"

#include <algorithm>

namespace octlm::model::jinja {
namespace {

constexpr FilterEntry kFilters[] = {
    {"abs", filters::absolute},
    {"attr", nullptr},
    {"batch", nullptr},
    {"capitalize", filters::capitalize, true},
    {"center", nullptr},
    {"count", filters::length},
    {"d", filters::default_value},
    {"default", filters::default_value},
    {"dictsort", filters::dictsort},
    {"e", filters::escape},
    {"escape", filters::escape},
    {"filesizeformat", nullptr},
    {"first", filters::first},
    {"float", filters::float_value},
    {"forceescape", filters::forceescape},
    {"format", nullptr},
    {"groupby", nullptr},
    {"indent", filters::indent, true},
    {"int", filters::int_value},
    {"items", filters::items},
    {"join", filters::join},
    {"last", filters::last, true},
    {"length", filters::length},
    {"list", filters::list},
    {"lower", filters::lower, true},
    {"map", filters::map},
    {"max", filters::max},
    {"min", filters::min},
    {"pprint", nullptr},
    {"random", nullptr},
    {"reject", filters::reject},
    {"rejectattr", filters::rejectattr},
    {"replace", filters::replace},
    {"reverse", filters::reverse, true},
    {"round", filters::round},
    {"safe", filters::safe},
    {"select", filters::select},
    {"selectattr", filters::selectattr},
    {"slice", nullptr},
    {"sort", filters::sort},
    {"string", filters::string, true},
    {"striptags", nullptr},
    {"sum", filters::sum},
    {"title", filters::title},
    {"tojson", filters::tojson},
    {"trim", filters::trim, true},
    {"truncate", nullptr},
    {"unique", filters::unique},
    {"upper", filters::upper, true},
    {"urlencode", nullptr},
    {"urlize", nullptr},
    {"wordcount", nullptr},
    {"wordwrap", nullptr},
    {"xmlattr", nullptr},
};

}  // namespace

const FilterEntry& find_filter(std::string_view name) {
  const auto* entry = std::ranges::find(kFilters, name, &FilterEntry::name);
  if (entry == std::end(kFilters))
    throw TemplateError("no filter named '" + std::string(name) + "'");
  if (!entry->filter) throw UnsupportedError("filter '" + std::string(name) + "'");
  return *entry;
}

Value apply_filter(Runtime& runtime, const FilterEntry& entry, const Value& value,
                   const Arguments& arguments) {
  const Budget::Level level(runtime.budget);
  runtime.budget.step(value.string() ? 1 + value.string()->text().size() / 64 : 1);
  // Jinja would escape what is joined to such an indentation.
  const auto is_markup = [](const Value& one) { return one.is_markup(); };
  if (entry.name == "indent" && !value.is_markup() &&
      std::ranges::any_of(arguments.positional, is_markup)) {
    throw UnsupportedError("filter 'indent' with a |safe string");
  }
  Value result = entry.filter(runtime, value, arguments);
  return entry.keeps_markup && value.is_markup() && result.string() ? result.as_markup() : result;
}

}  // namespace octlm::model::jinja
