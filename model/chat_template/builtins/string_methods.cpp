#include "model/chat_template/builtins/string_methods.h"

#include <algorithm>
#include <string>

#include "model/chat_template/builtins/arguments.h"
#include "model/chat_template/values/comparison.h"
#include "model/chat_template/values/letter_case.h"
#include "model/chat_template/values/text_pieces.h"
#include "model/chat_template/values/unicode.h"

namespace octlm::model::jinja {
namespace {

// The argument's text, or nullptr when it was left out or None.
const Text* text_or_none(std::string_view function, const Value* value) {
  return value && !value->is_none() ? &string_of(function, *value) : nullptr;
}

Value strip_method(Runtime& runtime, const Text& self, const Arguments& arguments,
                   std::string_view name, bool left, bool right) {
  const auto bound = bind(name, arguments, {"/chars"});
  return Value::string(stripped(runtime, self, text_or_none(name, bound[0]), left, right));
}

Value strip(Runtime& runtime, const Text& self, const Arguments& arguments) {
  return strip_method(runtime, self, arguments, "strip", true, true);
}
Value lstrip(Runtime& runtime, const Text& self, const Arguments& arguments) {
  return strip_method(runtime, self, arguments, "lstrip", true, false);
}
Value rstrip(Runtime& runtime, const Text& self, const Arguments& arguments) {
  return strip_method(runtime, self, arguments, "rstrip", false, true);
}

Value pieces(Runtime& runtime, const Text& self, const std::vector<Cut>& cuts) {
  std::vector<Value> items;
  items.reserve(cuts.size());
  for (const Cut& cut : cuts)
    items.push_back(Value::string(slice(runtime, self, cut.begin, cut.end)));
  return runtime.list(std::move(items));
}

Value split_method(Runtime& runtime, const Text& self, const Arguments& arguments,
                   bool from_the_right) {
  const char* name = from_the_right ? "rsplit" : "split";
  const auto bound = bind(name, arguments, {"sep", "maxsplit"});
  std::int64_t limit = bound[1] ? integer_of(name, *bound[1]) : -1;
  if (limit < 0) limit = kAll;
  const std::string& bytes = self.text();
  const Text* separator = text_or_none(name, bound[0]);
  if (!separator) {
    if (from_the_right && limit != kAll)
      throw UnsupportedError("rsplit at white space with a limit");
    return pieces(runtime, self, split_at_space(runtime, bytes, limit));
  }
  if (separator->text().empty()) throw TemplateError("empty separator");
  return pieces(runtime, self,
                from_the_right ? split_at_last(runtime, bytes, separator->text(), limit)
                               : split_at(runtime, bytes, separator->text(), limit));
}

Value split(Runtime& runtime, const Text& self, const Arguments& arguments) {
  return split_method(runtime, self, arguments, false);
}
Value rsplit(Runtime& runtime, const Text& self, const Arguments& arguments) {
  return split_method(runtime, self, arguments, true);
}

Value splitlines(Runtime& runtime, const Text& self, const Arguments& arguments) {
  const auto bound = bind("splitlines", arguments, {"keepends"});
  std::vector<Value> lines;
  for (Text& line : split_lines(runtime, self, truth_of(bound[0], false))) {
    lines.push_back(Value::string(std::move(line)));
  }
  return runtime.list(std::move(lines));
}

Value partition_method(Runtime& runtime, const Text& self, const Arguments& arguments,
                       bool from_the_right) {
  const char* name = from_the_right ? "rpartition" : "partition";
  const auto bound = bind(name, arguments, {"/sep"});
  if (!bound[0]) throw TemplateError(std::string(name) + ": needs a separator");
  const Text& separator = string_of(name, *bound[0]);
  if (separator.text().empty()) throw TemplateError("empty separator");
  const std::string& bytes = self.text();
  const std::size_t at = from_the_right ? find_last(runtime, bytes, separator.text())
                                        : find_first(bytes, separator.text());
  std::vector<Value> parts;
  if (at == std::string::npos) {
    parts.assign(3, Value::string({}));
    parts[from_the_right ? 2 : 0] = Value::string(self);
  } else {
    parts.push_back(Value::string(slice(runtime, self, 0, at)));
    parts.push_back(*bound[0]);
    parts.push_back(
        Value::string(slice(runtime, self, at + separator.text().size(), bytes.size())));
  }
  return runtime.sequence(SequenceKind::kTuple, std::move(parts));
}

Value partition(Runtime& runtime, const Text& self, const Arguments& arguments) {
  return partition_method(runtime, self, arguments, false);
}
Value rpartition(Runtime& runtime, const Text& self, const Arguments& arguments) {
  return partition_method(runtime, self, arguments, true);
}

// startswith and endswith: one string, or a tuple of them.
Value affix_method(const Text& self, const Arguments& arguments, std::string_view name,
                   bool at_start) {
  if (arguments.positional.size() > 1) throw UnsupportedError(std::string(name) + " with a range");
  const auto bound = bind(name, arguments, {"/prefix"});
  if (!bound[0]) throw TemplateError(std::string(name) + ": needs an argument");
  const auto has = [&](const Value& affix) {
    const std::string& text = string_of(name, affix).text();
    return at_start ? self.text().starts_with(text) : self.text().ends_with(text);
  };
  if (const Sequence* choices = bound[0]->sequence(SequenceKind::kTuple)) {
    return Value::boolean(std::ranges::any_of(choices->items, has));
  }
  return Value::boolean(has(*bound[0]));
}

Value startswith(Runtime&, const Text& self, const Arguments& arguments) {
  return affix_method(self, arguments, "startswith", true);
}
Value endswith(Runtime&, const Text& self, const Arguments& arguments) {
  return affix_method(self, arguments, "endswith", false);
}

Value without_affix(Runtime& runtime, const Text& self, const Arguments& arguments,
                    std::string_view name, bool at_start) {
  const auto bound = bind(name, arguments, {"/affix"});
  if (!bound[0]) throw TemplateError(std::string(name) + ": needs an argument");
  const std::string& affix = string_of(name, *bound[0]).text();
  const std::string& bytes = self.text();
  if (at_start ? !bytes.starts_with(affix) : !bytes.ends_with(affix)) return Value::string(self);
  return Value::string(at_start ? slice(runtime, self, affix.size(), bytes.size())
                                : slice(runtime, self, 0, bytes.size() - affix.size()));
}

Value removeprefix(Runtime& runtime, const Text& self, const Arguments& arguments) {
  return without_affix(runtime, self, arguments, "removeprefix", true);
}
Value removesuffix(Runtime& runtime, const Text& self, const Arguments& arguments) {
  return without_affix(runtime, self, arguments, "removesuffix", false);
}

// find, rfind, index, rindex: a position counted in characters.
Value find_method(Runtime& runtime, const Text& self, const Arguments& arguments,
                  std::string_view name, bool last, bool must_exist) {
  if (arguments.positional.size() > 1) throw UnsupportedError(std::string(name) + " with a range");
  const auto bound = bind(name, arguments, {"/sub"});
  if (!bound[0]) throw TemplateError(std::string(name) + ": needs an argument");
  const std::string& part = string_of(name, *bound[0]).text();
  const std::size_t at =
      last ? find_last(runtime, self.text(), part) : find_first(self.text(), part);
  if (at == std::string::npos && must_exist) throw TemplateError("substring not found");
  if (at == std::string::npos) return Value::integer(-1);
  return Value::integer(
      static_cast<std::int64_t>(count_code_points(std::string_view(self.text()).substr(0, at))));
}

Value find(Runtime& runtime, const Text& self, const Arguments& arguments) {
  return find_method(runtime, self, arguments, "find", false, false);
}
Value rfind(Runtime& runtime, const Text& self, const Arguments& arguments) {
  return find_method(runtime, self, arguments, "rfind", true, false);
}
Value index(Runtime& runtime, const Text& self, const Arguments& arguments) {
  return find_method(runtime, self, arguments, "index", false, true);
}
Value rindex(Runtime& runtime, const Text& self, const Arguments& arguments) {
  return find_method(runtime, self, arguments, "rindex", true, true);
}

Value count(Runtime& runtime, const Text& self, const Arguments& arguments) {
  if (arguments.positional.size() > 1) throw UnsupportedError("count with a range");
  const auto bound = bind("count", arguments, {"/sub"});
  if (!bound[0]) throw TemplateError("count: needs an argument");
  const std::string& part = string_of("count", *bound[0]).text();
  if (part.empty())
    return Value::integer(static_cast<std::int64_t>(count_code_points(self.text())) + 1);
  return Value::integer(std::ssize(split_at(runtime, self.text(), part, kAll)) - 1);
}

Value replace(Runtime& runtime, const Text& self, const Arguments& arguments) {
  const auto bound = bind("replace", arguments, {"/old", "/new", "/count"});
  if (!bound[0] || !bound[1]) throw TemplateError("replace: needs two arguments");
  const std::int64_t limit = bound[2] ? integer_of("replace", *bound[2]) : -1;
  return Value::string(replaced(runtime, self, string_of("replace", *bound[0]),
                                string_of("replace", *bound[1]), limit));
}

Value join(Runtime& runtime, const Text& self, const Arguments& arguments) {
  const auto bound = bind("join", arguments, {"/iterable"});
  if (!bound[0]) throw TemplateError("join: needs an argument");
  std::vector<Text> texts;
  for (const Value& item : items_of(runtime, *bound[0])) {
    if (!item.string()) {
      throw TemplateError("join: expected a string, found '" + std::string(item.type_name()) + "'");
    }
    texts.push_back(*item.string());
  }
  return Value::string(joined(runtime, self, texts));
}

template <Text (*change)(Runtime&, const Text&)>
Value changed(Runtime& runtime, const Text& self, const Arguments& arguments) {
  bind("str method", arguments, {});
  return Value::string(change(runtime, self));
}

// isdigit and its like: the ASCII characters are decided here, others are refused.
template <bool (*holds)(char32_t)>
Value every(Runtime&, const Text& self, const Arguments& arguments) {
  bind("str method", arguments, {});
  const std::string& bytes = self.text();
  for (std::size_t at = 0; at < bytes.size(); at += length_at(bytes, at)) {
    if (!holds(code_point_at(bytes, at))) return Value::boolean(false);
  }
  return Value::boolean(!bytes.empty());
}

char32_t ascii(char32_t c) {
  if (c >= 0x80) throw UnsupportedError("classifying a character beyond ASCII");
  return c;
}
bool digit(char32_t c) { return ascii(c) >= '0' && c <= '9'; }
bool letter(char32_t c) { return (ascii(c) >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool letter_or_digit(char32_t c) { return letter(c) || digit(c); }

Value isupper(Runtime&, const Text& self, const Arguments& arguments) {
  bind("isupper", arguments, {});
  return Value::boolean(is_upper(self));
}
Value islower(Runtime&, const Text& self, const Arguments& arguments) {
  bind("islower", arguments, {});
  return Value::boolean(is_lower(self));
}

struct Entry {
  std::string_view name;
  StringMethod method;  // nullptr: Python has it, this does not
};

constexpr Entry kMethods[] = {
    {"capitalize", changed<capitalized>},
    {"casefold", nullptr},
    {"center", nullptr},
    {"count", count},
    {"encode", nullptr},
    {"endswith", endswith},
    {"expandtabs", nullptr},
    {"find", find},
    {"format", nullptr},
    {"format_map", nullptr},
    {"index", index},
    {"isalnum", every<letter_or_digit>},
    {"isalpha", every<letter>},
    {"isascii", nullptr},
    {"isdecimal", every<digit>},
    {"isdigit", every<digit>},
    {"isidentifier", nullptr},
    {"islower", islower},
    {"isnumeric", every<digit>},
    {"isprintable", nullptr},
    {"isspace", every<is_space>},
    {"istitle", nullptr},
    {"isupper", isupper},
    {"join", join},
    {"ljust", nullptr},
    {"lower", changed<lower>},
    {"lstrip", lstrip},
    {"maketrans", nullptr},
    {"partition", partition},
    {"removeprefix", removeprefix},
    {"removesuffix", removesuffix},
    {"replace", replace},
    {"rfind", rfind},
    {"rindex", rindex},
    {"rjust", nullptr},
    {"rpartition", rpartition},
    {"rsplit", rsplit},
    {"rstrip", rstrip},
    {"split", split},
    {"splitlines", splitlines},
    {"startswith", startswith},
    {"strip", strip},
    {"swapcase", nullptr},
    {"title", changed<titled>},
    {"translate", nullptr},
    {"upper", changed<upper>},
    {"zfill", nullptr},
};

}  // namespace

StringMethod find_string_method(std::string_view name) {
  const auto* entry = std::ranges::find(kMethods, name, &Entry::name);
  if (entry == std::end(kMethods)) return nullptr;
  if (!entry->method) throw UnsupportedError("str." + std::string(name));
  return entry->method;
}

}  // namespace octlm::model::jinja
