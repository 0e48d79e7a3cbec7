// The list of Jinja's filters.
#include "model/chat_template/builtins/filters.h"

#include <algorithm>

namespace octlm::model::jinja {
namespace {

constexpr FilterEntry kFilters[] = {
    {"abs", filters::absolute},
    {"attr", nullptr},
    {"batch", nullptr},
    {"capitalize", filters::capitalize},
    {"center", nullptr},
    {"count", filters::length, true},
    {"d", filters::default_value, true},
    {"default", filters::default_value, true},
    {"dictsort", filters::dictsort},
    {"e", nullptr},
    {"escape", nullptr},
    {"filesizeformat", nullptr},
    {"first", filters::first},
    {"float", filters::float_value},
    {"forceescape", nullptr},
    {"format", nullptr},
    {"groupby", nullptr},
    {"indent", filters::indent},
    {"int", filters::int_value},
    {"items", filters::items},
    {"join", filters::join},
    {"last", filters::last},
    {"length", filters::length, true},
    {"list", filters::list},
    {"lower", filters::lower},
    {"map", filters::map},
    {"max", filters::max},
    {"min", filters::min},
    {"pprint", nullptr},
    {"random", nullptr},
    {"reject", filters::reject},
    {"rejectattr", filters::rejectattr},
    {"replace", filters::replace},
    {"reverse", filters::reverse},
    {"round", filters::round},
    {"safe", filters::safe, true},
    {"select", filters::select},
    {"selectattr", filters::selectattr},
    {"slice", nullptr},
    {"sort", filters::sort},
    {"string", filters::string, true},
    {"striptags", nullptr},
    {"sum", filters::sum},
    {"title", filters::title},
    {"tojson", filters::tojson, true},
    {"trim", filters::trim},
    {"truncate", nullptr},
    {"unique", filters::unique},
    {"upper", filters::upper},
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
  const auto is_markup = [](const Value& one) { return one.is_markup(); };
  if (!entry.takes_markup &&
      (is_markup(value) || std::ranges::any_of(arguments.positional, is_markup))) {
    throw UnsupportedError("filter '" + std::string(entry.name) + "' of a |safe string");
  }
  return entry.filter(runtime, value, arguments);
}

}  // namespace octlm::model::jinja
