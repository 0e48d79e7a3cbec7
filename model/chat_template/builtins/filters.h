// What follows `|`.
#pragma once

#include <string_view>

#include "model/chat_template/runtime.h"

namespace octlm::model::jinja {

using Filter = Value (*)(Runtime& runtime, const Value& value, const Arguments& arguments);

struct FilterEntry {
  std::string_view name;
  Filter filter;              // nullptr: Jinja has it, this does not
  bool keeps_markup = false;  // of a |safe string it makes one; else it takes it as its text
};

// Throws TemplateError for a name Jinja does not have, UnsupportedError for one that only this
// lacks.
const FilterEntry& find_filter(std::string_view name);

Value apply_filter(Runtime& runtime, const FilterEntry& entry, const Value& value,
                   const Arguments& arguments);

// Filters of texts and numbers (text_filters.cpp), and of lists and objects (list_filters.cpp).
namespace filters {

Value absolute(Runtime&, const Value&, const Arguments&);
Value capitalize(Runtime&, const Value&, const Arguments&);
Value default_value(Runtime&, const Value&, const Arguments&);
Value escape(Runtime&, const Value&, const Arguments&);
Value forceescape(Runtime&, const Value&, const Arguments&);
Value indent(Runtime&, const Value&, const Arguments&);
Value int_value(Runtime&, const Value&, const Arguments&);
Value float_value(Runtime&, const Value&, const Arguments&);
Value lower(Runtime&, const Value&, const Arguments&);
Value replace(Runtime&, const Value&, const Arguments&);
Value round(Runtime&, const Value&, const Arguments&);
Value safe(Runtime&, const Value&, const Arguments&);
Value string(Runtime&, const Value&, const Arguments&);
Value title(Runtime&, const Value&, const Arguments&);
Value tojson(Runtime&, const Value&, const Arguments&);
Value trim(Runtime&, const Value&, const Arguments&);
Value upper(Runtime&, const Value&, const Arguments&);

Value dictsort(Runtime&, const Value&, const Arguments&);
Value first(Runtime&, const Value&, const Arguments&);
Value items(Runtime&, const Value&, const Arguments&);
Value join(Runtime&, const Value&, const Arguments&);
Value last(Runtime&, const Value&, const Arguments&);
Value length(Runtime&, const Value&, const Arguments&);
Value list(Runtime&, const Value&, const Arguments&);
Value map(Runtime&, const Value&, const Arguments&);
Value max(Runtime&, const Value&, const Arguments&);
Value min(Runtime&, const Value&, const Arguments&);
Value reject(Runtime&, const Value&, const Arguments&);
Value rejectattr(Runtime&, const Value&, const Arguments&);
Value reverse(Runtime&, const Value&, const Arguments&);
Value select(Runtime&, const Value&, const Arguments&);
Value selectattr(Runtime&, const Value&, const Arguments&);
Value sort(Runtime&, const Value&, const Arguments&);
Value sum(Runtime&, const Value&, const Arguments&);
Value unique(Runtime&, const Value&, const Arguments&);

}  // namespace filters
}  // namespace octlm::model::jinja
