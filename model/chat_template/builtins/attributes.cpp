#include "model/chat_template/builtins/attributes.h"

#include <algorithm>
#include <optional>

#include "model/chat_template/builtins/arguments.h"
#include "model/chat_template/builtins/string_methods.h"
#include "model/chat_template/loop.h"
#include "model/chat_template/values/comparison.h"
#include "model/chat_template/values/printed.h"
#include "model/chat_template/values/text_pieces.h"
#include "model/chat_template/values/unicode.h"

namespace octlm::model::jinja {
namespace {

bool is_one_of(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::ranges::find(names, name) != names.end();
}

Value method(Runtime& runtime, const Value& self, std::string_view name,
             std::function<Value(const Value&, Arguments&)> call) {
  return runtime.function(
      std::string(name),
      [self, call = std::move(call)](Arguments& arguments) { return call(self, arguments); },
      self.depth() + 1);
}

Value unsafe(std::string_view name, const Value& value) {
  return Value::undefined("access to attribute '" + std::string(name) + "' of '" +
                          std::string(value.type_name()) + "' object is unsafe");
}

Value view_of(Runtime& runtime, const Value& self, SequenceKind kind) {
  std::vector<Value> items;
  for (const auto& [key, value] : self.dict()->entries) {
    if (kind == SequenceKind::kItems) {
      items.push_back(runtime.sequence(SequenceKind::kTuple, {key, value}));
    } else {
      items.push_back(kind == SequenceKind::kKeys ? key : value);
    }
  }
  return runtime.sequence(kind, std::move(items), self.origin());
}

Value get_entry(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const auto bound = bind("get", arguments, {"/key", "/default"});
  if (!bound[0]) throw TemplateError("get: needs a key");
  if (const auto at = find_key(runtime, *self.dict(), *bound[0]))
    return self.dict()->entries[*at].second;
  return bound[1] ? *bound[1] : Value();
}

std::optional<Value> dict_attribute(Runtime& runtime, const Value& self, std::string_view name) {
  if (is_one_of(name, {"clear", "pop", "popitem", "setdefault", "update"}))
    return unsafe(name, self);
  if (name == "fromkeys") throw UnsupportedError("dict.fromkeys");
  if (name == "get") {
    return method(runtime, self, name, [&runtime](const Value& dict, Arguments& arguments) {
      return get_entry(runtime, dict, arguments);
    });
  }
  const auto view = [&](SequenceKind kind) {
    return method(runtime, self, name, [&runtime, kind](const Value& dict, Arguments& arguments) {
      bind("dict view", arguments, {});
      return view_of(runtime, dict, kind);
    });
  };
  if (name == "keys") return view(SequenceKind::kKeys);
  if (name == "values") return view(SequenceKind::kValues);
  if (name == "items") return view(SequenceKind::kItems);
  if (name == "copy") {
    return method(runtime, self, name, [](const Value& dict, Arguments& arguments) {
      bind("copy", arguments, {});
      return dict;  // nothing can change either of them
    });
  }
  return std::nullopt;
}

Value count_in(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const auto bound = bind("count", arguments, {"/value"});
  if (!bound[0]) throw TemplateError("count: needs a value");
  return Value::integer(std::ranges::count_if(
      self.sequence()->items, [&](const Value& one) { return equal(runtime, one, *bound[0]); }));
}

Value index_in(Runtime& runtime, const Value& self, const Arguments& arguments) {
  if (arguments.positional.size() > 1) throw UnsupportedError("index with a range");
  const auto bound = bind("index", arguments, {"/value"});
  if (!bound[0]) throw TemplateError("index: needs a value");
  const auto& items = self.sequence()->items;
  const auto found =
      std::ranges::find_if(items, [&](const Value& one) { return equal(runtime, one, *bound[0]); });
  if (found == items.end()) throw TemplateError("index: the value is not in it");
  return Value::integer(found - items.begin());
}

std::optional<Value> sequence_attribute(Runtime& runtime, const Value& self,
                                        std::string_view name) {
  const SequenceKind kind = self.sequence()->kind;
  const bool is_list = kind == SequenceKind::kList;
  if (is_list && is_one_of(name, {"append", "clear", "extend", "insert", "pop", "remove", "reverse",
                                  "sort"})) {
    return unsafe(name, self);
  }
  if (is_list || kind == SequenceKind::kTuple || kind == SequenceKind::kRange) {
    if (name == "count") {
      return method(runtime, self, name, [&runtime](const Value& list, Arguments& arguments) {
        return count_in(runtime, list, arguments);
      });
    }
    if (name == "index") {
      return method(runtime, self, name, [&runtime](const Value& list, Arguments& arguments) {
        return index_in(runtime, list, arguments);
      });
    }
    if (is_list && name == "copy") {
      return method(runtime, self, name, [](const Value& list, Arguments& arguments) {
        bind("copy", arguments, {});
        return list;
      });
    }
    if (kind == SequenceKind::kRange && is_one_of(name, {"start", "stop", "step"})) {
      throw UnsupportedError("range." + std::string(name));
    }
    return std::nullopt;
  }
  if (is_one_of(name, {"mapping", "isdisjoint", "send", "throw", "close", "gi_code", "gi_frame",
                       "gi_running", "gi_yieldfrom", "gi_suspended"})) {
    throw UnsupportedError(std::string(self.type_name()) + "." + std::string(name));
  }
  return std::nullopt;
}

Value marked(Runtime& runtime, const Value& value) {
  if (value.string()) return value.as_markup();
  const Sequence* pieces = value.sequence();
  if (!pieces) return value;
  std::vector<Value> items;
  for (const Value& piece : pieces->items) items.push_back(marked(runtime, piece));
  return runtime.sequence(pieces->kind, std::move(items), value.origin());
}

Value safe_text(Runtime& runtime, const Value& value) {
  if (value.is_markup()) return value;
  return Value::string(escaped(runtime, str(runtime, value))).as_markup();
}

// A method of Markup (markupsafe 3.0.4): what it makes is Markup too, and what join and replace put
// in is escaped.
Value markup_method(Runtime& runtime, const Text& text, StringMethod called,
                    const std::string& name, Arguments& arguments) {
  if (name == "join" && arguments.positional.size() == 1) {
    std::vector<Value> items;
    for (const Value& one : items_of(runtime, arguments.positional[0])) {
      items.push_back(safe_text(runtime, one));
    }
    arguments.positional[0] = runtime.list(std::move(items));
  }
  if (name == "replace" && arguments.positional.size() >= 2 && arguments.positional[1].string()) {
    arguments.positional[1] = safe_text(runtime, arguments.positional[1]);
  }
  return marked(runtime, called(runtime, text, arguments));
}

Value string_attribute(Runtime& runtime, const Value& self, StringMethod called,
                       std::string_view name) {
  return method(
      runtime, self, name,
      [&runtime, called, name = std::string(name)](const Value& text, Arguments& arguments) {
        runtime.budget.step(text.string()->text().size() / 64);
        if (text.is_markup()) {
          return markup_method(runtime, *text.string(), called, name, arguments);
        }
        return called(runtime, *text.string(), arguments);
      });
}

// The attribute in Python's sense, nullopt when there is none.
std::optional<Value> own_attribute(Runtime& runtime, const Value& value, std::string_view name) {
  if (const Namespace* members = value.as_namespace()) {
    const Value* found = members->find(name);
    return found ? std::optional(*found) : std::nullopt;
  }
  if (value.loop()) return loop_attribute(runtime, value, name);
  if (value.dict()) return dict_attribute(runtime, value, name);
  if (value.sequence()) return sequence_attribute(runtime, value, name);
  if (value.string()) {
    const StringMethod called = find_string_method(name);
    return called ? std::optional(string_attribute(runtime, value, called, name)) : std::nullopt;
  }
  if (value.is_number() && is_one_of(name, {"real", "imag", "numerator", "denominator", "conjugate",
                                            "bit_length", "bit_count", "to_bytes", "from_bytes",
                                            "as_integer_ratio", "is_integer", "hex", "fromhex"})) {
    throw UnsupportedError(std::string(value.type_name()) + "." + std::string(name));
  }
  if (value.callable())
    throw UnsupportedError("an attribute of a function ('" + std::string(name) + "')");
  return std::nullopt;
}

Value missing(const Value& value, std::string_view name) {
  return Value::undefined("'" + std::string(value.type_name()) + "' object has no attribute '" +
                          std::string(name) + "'");
}

std::optional<Value> own_item(Runtime& runtime, const Value& value, const Value& key) {
  if (const Dict* dict = value.dict()) {
    if (!is_hashable(key)) return std::nullopt;
    const auto at = find_key(runtime, *dict, key);
    return at ? std::optional(dict->entries[*at].second) : std::nullopt;
  }
  if (!key.integer()) return std::nullopt;
  std::int64_t at = *key.integer();
  if (const Text* text = value.string()) {
    const std::string& bytes = text->text();
    runtime.budget.step(bytes.size() / 16);
    if (at < 0) at += static_cast<std::int64_t>(count_code_points(bytes));
    if (at < 0) return std::nullopt;
    const std::size_t begin = byte_of(bytes, static_cast<std::size_t>(at));
    if (begin == bytes.size()) return std::nullopt;
    Value character = Value::string(slice(runtime, *text, begin, begin + length_at(bytes, begin)));
    return value.is_markup() ? character.as_markup() : character;
  }
  if (const Sequence* sequence = value.sequence()) {
    if (sequence->kind != SequenceKind::kList && sequence->kind != SequenceKind::kTuple &&
        sequence->kind != SequenceKind::kRange) {
      return std::nullopt;
    }
    const auto size = std::ssize(sequence->items);
    if (at < 0) at += size;
    if (at < 0 || at >= size) return std::nullopt;
    return sequence->items[static_cast<std::size_t>(at)];
  }
  return std::nullopt;
}

void refuse_underscore(std::string_view name) {
  if (name.starts_with('_'))
    throw UnsupportedError("attribute '" + std::string(name) + "': underscored names");
}

std::optional<std::int64_t> bound_of(const Value& value) {
  if (value.is_none()) return std::nullopt;
  if (!value.integer()) throw TemplateError("slice indices must be integers or None");
  return value.integer();
}

// The positions that start:stop:step selects from `size` items, as Python's slice.indices().
std::vector<std::size_t> selected(Runtime& runtime, std::int64_t size, const Value& start_value,
                                  const Value& stop_value, const Value& step_value) {
  const std::int64_t step = bound_of(step_value).value_or(1);
  if (step == 0) throw TemplateError("slice step cannot be zero");
  const std::int64_t lowest = step < 0 ? -1 : 0;
  const std::int64_t highest = step < 0 ? size - 1 : size;
  const auto clamp = [&](std::optional<std::int64_t> at, std::int64_t otherwise) {
    if (!at) return otherwise;
    return std::clamp(*at < 0 ? *at + size : *at, lowest, highest);
  };
  std::int64_t at = clamp(bound_of(start_value), step < 0 ? highest : lowest);
  const std::int64_t stop = clamp(bound_of(stop_value), step < 0 ? lowest : highest);
  std::vector<std::size_t> positions;
  while (step > 0 ? at < stop : at > stop) {
    runtime.budget.bytes(sizeof(std::size_t));
    positions.push_back(static_cast<std::size_t>(at));
    if (__builtin_add_overflow(at, step, &at)) break;
  }
  return positions;
}

Value text_slice(Runtime& runtime, const Text& text, const Value& start, const Value& stop,
                 const Value& step) {
  const std::string& bytes = text.text();
  std::vector<std::size_t> starts;
  runtime.budget.bytes(bytes.size() * sizeof(std::size_t));
  for (std::size_t at = 0; at < bytes.size(); at += length_at(bytes, at)) starts.push_back(at);
  const auto positions = selected(runtime, std::ssize(starts), start, stop, step);
  starts.push_back(bytes.size());
  TextBuilder out(runtime);
  for (std::size_t i = 0; i < positions.size();) {  // neighbours in one piece
    std::size_t last = i;
    while (last + 1 < positions.size() && positions[last + 1] == positions[last] + 1) ++last;
    out.append(text, starts[positions[i]], starts[positions[last] + 1]);
    i = last + 1;
  }
  return Value::string(out.take());
}

}  // namespace

Value attribute(Runtime& runtime, const Value& value, std::string_view name) {
  if (value.is_undefined()) throw TemplateError(value.why_undefined());
  refuse_underscore(name);
  if (auto found = own_attribute(runtime, value, name)) return *found;
  if (value.dict()) {
    if (auto found = own_item(runtime, value, Value::literal(name))) return *found;
  }
  return missing(value, name);
}

Value item(Runtime& runtime, const Value& value, const Value& key) {
  if (value.is_undefined()) throw TemplateError(value.why_undefined());
  if (auto found = own_item(runtime, value, key)) return *found;
  const Text* name = key.string();
  if (!name) {
    return Value::undefined("'" + std::string(value.type_name()) + "' object has no such element");
  }
  if (name->text().starts_with('_')) return missing(value, name->text());
  if (auto found = own_attribute(runtime, value, name->text())) return *found;
  return missing(value, name->text());
}

Value slice_of(Runtime& runtime, const Value& value, const Value& start, const Value& stop,
               const Value& step) {
  if (value.is_undefined()) throw TemplateError(value.why_undefined());
  if (const Text* text = value.string()) {
    Value part = text_slice(runtime, *text, start, stop, step);
    return value.is_markup() ? part.as_markup() : part;
  }
  const Sequence* sequence = value.sequence();
  const bool has_slices = sequence && (sequence->kind == SequenceKind::kList ||
                                       sequence->kind == SequenceKind::kTuple ||
                                       sequence->kind == SequenceKind::kRange);
  if (!has_slices)
    throw TemplateError("'" + std::string(value.type_name()) + "' object has no slices");
  std::vector<Value> items;
  for (const std::size_t at : selected(runtime, std::ssize(sequence->items), start, stop, step)) {
    items.push_back(sequence->items[at]);
  }
  return runtime.sequence(sequence->kind, std::move(items), value.origin());
}

std::int64_t length(const Value& value) {
  if (value.is_undefined()) return 0;
  if (const Text* text = value.string())
    return static_cast<std::int64_t>(count_code_points(text->text()));
  if (const Dict* dict = value.dict()) return std::ssize(dict->entries);
  const Sequence* sequence = value.sequence();
  if (sequence && sequence->kind != SequenceKind::kIterator) return std::ssize(sequence->items);
  if (value.loop()) throw UnsupportedError("the length of the loop variable");
  throw TemplateError("object of type '" + std::string(value.type_name()) + "' has no len()");
}

}  // namespace octlm::model::jinja
