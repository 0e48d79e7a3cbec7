// Filters of lists and objects.
#include <algorithm>
#include <set>

#include "model/chat_template/builtins/arguments.h"
#include "model/chat_template/builtins/attributes.h"
#include "model/chat_template/builtins/filters.h"
#include "model/chat_template/builtins/tests.h"
#include "model/chat_template/operators.h"
#include "model/chat_template/values/comparison.h"
#include "model/chat_template/values/letter_case.h"
#include "model/chat_template/values/printed.h"
#include "model/chat_template/values/text_pieces.h"

namespace octlm::model::jinja::filters {
namespace {

// "a.b.0" of map, sort and their like: keys, and integers where a part is all digits.
class Path {
 public:
  explicit Path(const Value& attribute) {
    const Text* text = attribute.string();
    if (!text) {
      if (!attribute.is_none()) parts_.push_back(attribute);
      return;
    }
    const std::string& bytes = text->text();
    for (std::size_t begin = 0; begin <= bytes.size();) {
      const std::size_t end = std::min(bytes.find('.', begin), bytes.size());
      parts_.push_back(part(bytes.substr(begin, end - begin)));
      begin = end + 1;
    }
  }

  Value of(Runtime& runtime, const Value& value, const Value* otherwise = nullptr) const {
    Value found = value;
    for (const Value& key : parts_) {
      found = item(runtime, found, key);
      if (otherwise && !otherwise->is_none() && found.is_undefined()) found = *otherwise;
    }
    return found;
  }

 private:
  static Value part(const std::string& text) {
    const bool is_index = !text.empty() && text.size() < 18 &&
                          text.find_first_not_of("0123456789") == std::string::npos;
    return is_index ? Value::integer(std::stoll(text)) : Value::literal(text);
  }

  std::vector<Value> parts_;
};

Path path_of(const Value* attribute) { return Path(attribute ? *attribute : Value()); }

Value without_case(Runtime& runtime, const Value& value) {
  return value.string() ? Value::string(jinja::lower(runtime, *value.string())) : value;
}

struct Keyed {
  Value key;
  Value item;
};

std::vector<Value> sorted(Runtime& runtime, std::vector<Keyed> keyed, bool reverse) {
  runtime.budget.bytes(keyed.size() * sizeof(Keyed));
  const auto precedes = [&](const Keyed& a, const Keyed& b) {
    return order(runtime, a.key, b.key) < 0;
  };
  if (reverse) {  // equal ones keep their order
    std::ranges::reverse(keyed);
    std::ranges::stable_sort(keyed, precedes);
    std::ranges::reverse(keyed);
  } else {
    std::ranges::stable_sort(keyed, precedes);
  }
  std::vector<Value> items;
  for (Keyed& one : keyed) items.push_back(std::move(one.item));
  return items;
}

Value extreme(Runtime& runtime, const Value& value, const Arguments& arguments, bool largest) {
  const auto bound = bind(largest ? "max" : "min", arguments, {"case_sensitive", "attribute"});
  const Path path = path_of(bound[1]);
  const bool exact = truth_of(bound[0], false);
  std::optional<Keyed> best;
  for (const Value& one : items_of(runtime, value)) {
    Value key = path.of(runtime, one);
    if (!exact) key = without_case(runtime, key);
    if (best) {
      const auto found = order(runtime, key, best->key);
      if (largest ? !(found > 0) : !(found < 0)) continue;
    }
    best = Keyed{std::move(key), one};
  }
  return best ? best->item : Value::undefined("No aggregated item, sequence was empty.");
}

// select, reject and their attr forms. The test's arguments follow its name.
Value chosen(Runtime& runtime, const Value& value, const Arguments& arguments, bool by_attribute,
             bool wanted) {
  if (!value.truth()) return runtime.iterator({});
  std::size_t at = 0;
  Path path{Value()};
  if (by_attribute) {
    if (arguments.positional.empty()) throw TemplateError("missing parameter for attribute name");
    path = Path(arguments.positional[at++]);
  }
  Test test = nullptr;
  Arguments rest{{}, arguments.named};
  if (at < arguments.positional.size()) {
    test = find_test(string_of("test", arguments.positional[at++]).text());
    rest.positional.assign(arguments.positional.begin() + static_cast<std::ptrdiff_t>(at),
                           arguments.positional.end());
  }
  std::vector<Value> kept;
  for (const Value& one : items_of(runtime, value)) {
    const Value tested = path.of(runtime, one);
    if ((test ? test(runtime, tested, rest) : tested.truth()) == wanted) kept.push_back(one);
  }
  return runtime.iterator(std::move(kept));
}

}  // namespace

Value length(Runtime&, const Value& value, const Arguments& arguments) {
  bind("length", arguments, {});
  return Value::integer(jinja::length(value));
}

Value first(Runtime& runtime, const Value& value, const Arguments& arguments) {
  bind("first", arguments, {});
  if (const Sequence* iterator = value.sequence(SequenceKind::kIterator)) {
    if (iterator->next < iterator->items.size()) return iterator->items[iterator->next++];
    return Value::undefined("No first item, sequence was empty.");
  }
  const auto all = items_of(runtime, value);
  return all.empty() ? Value::undefined("No first item, sequence was empty.") : all.front();
}

Value last(Runtime& runtime, const Value& value, const Arguments& arguments) {
  bind("last", arguments, {});
  if (value.sequence(SequenceKind::kIterator))
    throw TemplateError("'generator' object is not reversible");
  const auto all = items_of(runtime, value);
  return all.empty() ? Value::undefined("No last item, sequence was empty.") : all.back();
}

Value list(Runtime& runtime, const Value& value, const Arguments& arguments) {
  bind("list", arguments, {});
  return runtime.list(items_of(runtime, value));
}

Value items(Runtime& runtime, const Value& value, const Arguments& arguments) {
  bind("items", arguments, {});
  if (value.is_undefined()) return runtime.iterator({});
  if (!value.dict()) throw TemplateError("Can only get item pairs from a mapping.");
  std::vector<Value> pairs;
  for (const auto& [key, entry] : value.dict()->entries) {
    pairs.push_back(runtime.sequence(SequenceKind::kTuple, {key, entry}));
  }
  return runtime.iterator(std::move(pairs));
}

Value join(Runtime& runtime, const Value& value, const Arguments& arguments) {
  const auto bound = bind("join", arguments, {"d", "attribute"});
  const Text separator = bound[0] ? str(runtime, *bound[0]) : Text();
  const Path path = path_of(bound[1]);
  std::vector<Text> texts;
  for (const Value& one : items_of(runtime, value))
    texts.push_back(str(runtime, path.of(runtime, one)));
  return Value::string(joined(runtime, separator, texts));
}

Value map(Runtime& runtime, const Value& value, const Arguments& arguments) {
  if (!value.truth()) return runtime.iterator({});
  std::vector<Value> mapped;
  const bool by_attribute =
      arguments.positional.empty() && std::ranges::any_of(arguments.named, [](const auto& one) {
        return one.first == "attribute";
      });
  if (by_attribute) {
    const auto bound = bind("map", arguments, {"attribute", "default"});
    const Path path(*bound[0]);
    for (const Value& one : items_of(runtime, value))
      mapped.push_back(path.of(runtime, one, bound[1]));
    return runtime.iterator(std::move(mapped));
  }
  if (arguments.positional.empty()) throw TemplateError("map requires a filter argument");
  const FilterEntry& filter = find_filter(string_of("map", arguments.positional[0]).text());
  const Arguments rest{{arguments.positional.begin() + 1, arguments.positional.end()},
                       arguments.named};
  for (const Value& one : items_of(runtime, value))
    mapped.push_back(apply_filter(runtime, filter, one, rest));
  return runtime.iterator(std::move(mapped));
}

Value select(Runtime& runtime, const Value& value, const Arguments& arguments) {
  return chosen(runtime, value, arguments, false, true);
}
Value reject(Runtime& runtime, const Value& value, const Arguments& arguments) {
  return chosen(runtime, value, arguments, false, false);
}
Value selectattr(Runtime& runtime, const Value& value, const Arguments& arguments) {
  return chosen(runtime, value, arguments, true, true);
}
Value rejectattr(Runtime& runtime, const Value& value, const Arguments& arguments) {
  return chosen(runtime, value, arguments, true, false);
}

Value unique(Runtime& runtime, const Value& value, const Arguments& arguments) {
  const auto bound = bind("unique", arguments, {"case_sensitive", "attribute"});
  const Path path = path_of(bound[1]);
  std::vector<Value> kept;
  std::set<std::string> texts;
  std::vector<Value> others;
  for (const Value& one : items_of(runtime, value)) {
    Value key = path.of(runtime, one);
    if (!truth_of(bound[0], false)) key = without_case(runtime, key);
    if (key.string()) {
      if (texts.insert(key.string()->text()).second) kept.push_back(one);
      continue;
    }
    if (!is_hashable(key))
      throw TemplateError("unhashable type: '" + std::string(key.type_name()) + "'");
    if (std::ranges::none_of(others,
                             [&](const Value& seen) { return equal(runtime, seen, key); })) {
      others.push_back(key);
      kept.push_back(one);
    }
  }
  return runtime.iterator(std::move(kept));
}

Value sort(Runtime& runtime, const Value& value, const Arguments& arguments) {
  const auto bound = bind("sort", arguments, {"reverse", "case_sensitive", "attribute"});
  std::vector<Path> paths;  // "a,b": by a, then by b
  if (bound[2] && bound[2]->string()) {
    const std::string& names = bound[2]->string()->text();
    for (std::size_t begin = 0; begin <= names.size();) {
      const std::size_t end = std::min(names.find(',', begin), names.size());
      paths.emplace_back(Value::literal(names.substr(begin, end - begin)));
      begin = end + 1;
    }
  } else {
    paths.push_back(path_of(bound[2]));
  }
  std::vector<Keyed> keyed;
  for (const Value& one : items_of(runtime, value)) {
    std::vector<Value> key;
    for (const Path& path : paths) {
      Value part = path.of(runtime, one);
      key.push_back(truth_of(bound[1], false) ? part : without_case(runtime, part));
    }
    keyed.push_back({runtime.list(std::move(key)), one});
  }
  return runtime.list(sorted(runtime, std::move(keyed), truth_of(bound[0], false)));
}

Value dictsort(Runtime& runtime, const Value& value, const Arguments& arguments) {
  const auto bound = bind("dictsort", arguments, {"case_sensitive", "by", "reverse"});
  const std::string by = bound[1] ? string_of("dictsort", *bound[1]).text() : "key";
  if (by != "key" && by != "value")
    throw TemplateError("You can only sort by either \"key\" or \"value\"");
  if (value.is_undefined()) throw TemplateError(value.why_undefined());
  if (!value.dict())
    throw TemplateError("dictsort: needs a mapping, not '" + std::string(value.type_name()) + "'");
  std::vector<Keyed> keyed;
  for (const auto& [key, entry] : value.dict()->entries) {
    const Value& sorted_by = by == "key" ? key : entry;
    keyed.push_back({truth_of(bound[0], false) ? sorted_by : without_case(runtime, sorted_by),
                     runtime.sequence(SequenceKind::kTuple, {key, entry})});
  }
  return runtime.list(sorted(runtime, std::move(keyed), truth_of(bound[2], false)));
}

Value reverse(Runtime& runtime, const Value& value, const Arguments& arguments) {
  bind("reverse", arguments, {});
  if (value.string()) return slice_of(runtime, value, Value(), Value(), Value::integer(-1));
  const bool is_generator = value.sequence(SequenceKind::kIterator) != nullptr;
  auto all = items_of(runtime, value);
  std::ranges::reverse(all);
  return is_generator ? runtime.list(std::move(all)) : runtime.iterator(std::move(all));
}

Value sum(Runtime& runtime, const Value& value, const Arguments& arguments) {
  const auto bound = bind("sum", arguments, {"attribute", "start"});
  const Path path = path_of(bound[0]);
  Value total = bound[1] ? *bound[1] : Value::integer(0, Origin::kTemplate);
  if (total.string()) throw TemplateError("sum() can't sum strings");
  for (const Value& one : items_of(runtime, value)) {
    total = arithmetic(runtime, Arithmetic::kAdd, total, path.of(runtime, one));
  }
  return total;
}

Value min(Runtime& runtime, const Value& value, const Arguments& arguments) {
  return extreme(runtime, value, arguments, false);
}
Value max(Runtime& runtime, const Value& value, const Arguments& arguments) {
  return extreme(runtime, value, arguments, true);
}

}  // namespace octlm::model::jinja::filters
