#include "model/chat_template/builtins/tests.h"

#include <algorithm>

#include "model/chat_template/builtins/arguments.h"
#include "model/chat_template/operators.h"
#include "model/chat_template/values/comparison.h"
#include "model/chat_template/values/letter_case.h"
#include "model/chat_template/values/printed.h"

namespace octlm::model::jinja {
namespace {

void no_arguments(const Arguments& arguments) { bind("test", arguments, {}); }

const Value& one_argument(const Arguments& arguments) {
  const auto bound = bind("test", arguments, {"/other"});
  if (!bound[0]) throw TemplateError("test: needs an argument");
  return *bound[0];
}

template <bool (*holds)(const Value&)>
bool simple(Runtime&, const Value& value, const Arguments& arguments) {
  no_arguments(arguments);
  return holds(value);
}

bool is_defined(const Value& value) { return !value.is_undefined(); }
bool is_undefined(const Value& value) { return value.is_undefined(); }
bool is_none(const Value& value) { return value.is_none(); }
bool is_boolean(const Value& value) { return value.boolean() != nullptr; }
bool is_true(const Value& value) { return value.boolean() && *value.boolean(); }
bool is_false(const Value& value) { return value.boolean() && !*value.boolean(); }
bool is_integer(const Value& value) {
  return (value.integer() && !value.boolean()) || value.big_integer();
}
bool is_float(const Value& value) { return value.real() != nullptr; }
bool is_number(const Value& value) { return value.is_number() || value.big_integer(); }
bool is_string(const Value& value) { return value.string() != nullptr; }
bool is_mapping(const Value& value) { return value.dict() != nullptr; }
bool is_callable(const Value& value) {
  return value.callable() || value.is_undefined() || value.loop();
}
bool is_escaped(const Value& value) { return value.is_markup(); }

bool is_sequence(const Value& value) {
  if (value.is_undefined() || value.string() || value.dict()) return true;
  const Sequence* sequence = value.sequence();
  return sequence &&
         (sequence->kind == SequenceKind::kList || sequence->kind == SequenceKind::kTuple ||
          sequence->kind == SequenceKind::kRange);
}

bool is_iterable(const Value& value) {
  return value.is_undefined() || value.string() || value.dict() || value.sequence() || value.loop();
}

bool leaves_rest(Runtime& runtime, const Value& value, const Value& by, std::int64_t rest) {
  return equal(runtime, arithmetic(runtime, Arithmetic::kModulo, value, by), Value::integer(rest));
}

bool is_odd(Runtime& runtime, const Value& value, const Arguments& arguments) {
  no_arguments(arguments);
  return leaves_rest(runtime, value, Value::integer(2), 1);
}
bool is_even(Runtime& runtime, const Value& value, const Arguments& arguments) {
  no_arguments(arguments);
  return leaves_rest(runtime, value, Value::integer(2), 0);
}
bool is_divisible(Runtime& runtime, const Value& value, const Arguments& arguments) {
  const auto bound = bind("divisibleby", arguments, {"num"});
  if (!bound[0]) throw TemplateError("divisibleby: needs an argument");
  return leaves_rest(runtime, value, *bound[0], 0);
}

bool is_lower_text(Runtime& runtime, const Value& value, const Arguments& arguments) {
  no_arguments(arguments);
  return is_lower(str(runtime, value));
}
bool is_upper_text(Runtime& runtime, const Value& value, const Arguments& arguments) {
  no_arguments(arguments);
  return is_upper(str(runtime, value));
}

bool is_equal(Runtime& runtime, const Value& value, const Arguments& arguments) {
  return equal(runtime, value, one_argument(arguments));
}
bool is_unequal(Runtime& runtime, const Value& value, const Arguments& arguments) {
  return !equal(runtime, value, one_argument(arguments));
}
bool is_less(Runtime& runtime, const Value& value, const Arguments& arguments) {
  return order(runtime, value, one_argument(arguments)) < 0;
}
bool is_at_most(Runtime& runtime, const Value& value, const Arguments& arguments) {
  return order(runtime, value, one_argument(arguments)) <= 0;
}
bool is_greater(Runtime& runtime, const Value& value, const Arguments& arguments) {
  return order(runtime, value, one_argument(arguments)) > 0;
}
bool is_at_least(Runtime& runtime, const Value& value, const Arguments& arguments) {
  return order(runtime, value, one_argument(arguments)) >= 0;
}

bool is_in(Runtime& runtime, const Value& value, const Arguments& arguments) {
  const auto bound = bind("in", arguments, {"seq"});
  if (!bound[0]) throw TemplateError("in: needs an argument");
  return contains(runtime, *bound[0], value);
}

// Identity means something for the singletons only; elsewhere it depends on how Python stores a
// value.
bool is_same(Runtime& runtime, const Value& value, const Arguments& arguments) {
  const auto bound = bind("sameas", arguments, {"other"});
  if (!bound[0]) throw TemplateError("sameas: needs an argument");
  const Value& other = *bound[0];
  const auto is_singleton = [](const Value& one) { return one.is_none() || one.boolean(); };
  if (!is_singleton(value) && !is_singleton(other)) {
    throw UnsupportedError("'sameas' of anything but true, false and none");
  }
  return value.data().index() == other.data().index() && equal(runtime, value, other);
}

struct Entry {
  std::string_view name;
  Test test;  // nullptr: Jinja has it, this does not
};

constexpr Entry kTests[] = {
    {"odd", is_odd},
    {"even", is_even},
    {"divisibleby", is_divisible},
    {"defined", simple<is_defined>},
    {"undefined", simple<is_undefined>},
    {"filter", nullptr},
    {"test", nullptr},
    {"none", simple<is_none>},
    {"boolean", simple<is_boolean>},
    {"false", simple<is_false>},
    {"true", simple<is_true>},
    {"integer", simple<is_integer>},
    {"float", simple<is_float>},
    {"lower", is_lower_text},
    {"upper", is_upper_text},
    {"string", simple<is_string>},
    {"mapping", simple<is_mapping>},
    {"number", simple<is_number>},
    {"sequence", simple<is_sequence>},
    {"iterable", simple<is_iterable>},
    {"callable", simple<is_callable>},
    {"sameas", is_same},
    {"escaped", simple<is_escaped>},
    {"in", is_in},
    {"==", is_equal},
    {"eq", is_equal},
    {"equalto", is_equal},
    {"!=", is_unequal},
    {"ne", is_unequal},
    {">", is_greater},
    {"gt", is_greater},
    {"greaterthan", is_greater},
    {"ge", is_at_least},
    {">=", is_at_least},
    {"<", is_less},
    {"lt", is_less},
    {"lessthan", is_less},
    {"<=", is_at_most},
    {"le", is_at_most},
};

}  // namespace

Test find_test(std::string_view name) {
  const auto* entry = std::ranges::find(kTests, name, &Entry::name);
  if (entry == std::end(kTests)) throw TemplateError("no test named '" + std::string(name) + "'");
  if (!entry->test) throw UnsupportedError("test '" + std::string(name) + "'");
  return entry->test;
}

}  // namespace octlm::model::jinja
