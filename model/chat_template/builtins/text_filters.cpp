// Filters of texts and numbers.
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "model/chat_template/builtins/arguments.h"
#include "model/chat_template/builtins/filters.h"
#include "model/chat_template/operators.h"
#include "model/chat_template/values/letter_case.h"
#include "model/chat_template/values/printed.h"
#include "model/chat_template/values/text_pieces.h"

namespace octlm::model::jinja::filters {
namespace {

Text stripped_text(Runtime& runtime, const Text& text) {
  return stripped(runtime, text, nullptr, true, true);
}

// Digits with single underscores between them, as Python's int() and float() read them; without
// those.
std::optional<std::string> without_underscores(const std::string& text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '_') {
      plain.push_back(text[i]);
      continue;
    }
    const auto is_digit = [&](std::size_t at) {
      return at < text.size() && text[at] >= '0' && text[at] <= '9';
    };
    if (i == 0 || !is_digit(i - 1) || !is_digit(i + 1)) return std::nullopt;
  }
  return plain;
}

void refuse_beyond_ascii(const std::string& text) {
  for (const char c : text) {
    if (static_cast<unsigned char>(c) >= 0x80)
      throw UnsupportedError("a number written beyond ASCII");
  }
}

// int(text) in base 10.
std::optional<std::int64_t> parsed_integer(const std::string& text) {
  refuse_beyond_ascii(text);
  auto plain = without_underscores(text);
  if (!plain) return std::nullopt;
  if (plain->starts_with('+')) plain->erase(0, 1);
  if (plain->starts_with("-") && text.starts_with("+")) return std::nullopt;
  if (plain->empty() ||
      plain->find_first_not_of("0123456789", (*plain)[0] == '-' ? 1 : 0) != std::string::npos) {
    return std::nullopt;
  }
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(plain->data(), plain->data() + plain->size(), value);
  if (error == std::errc::result_out_of_range)
    throw UnsupportedError("an integer of more than 64 bits");
  if (error != std::errc() || end != plain->data() + plain->size()) return std::nullopt;
  return value;
}

// float(text).
std::optional<double> parsed_float(const std::string& text) {
  refuse_beyond_ascii(text);
  const auto plain = without_underscores(text);
  if (!plain || plain->empty() || plain->find_first_of("xXpP( ") != std::string::npos)
    return std::nullopt;
  char* end = nullptr;
  const double value = std::strtod(plain->c_str(), &end);
  if (end != plain->c_str() + plain->size()) return std::nullopt;
  return value;
}

std::optional<Value> integer_from(double value, Origin origin) {
  if (std::isnan(value) || std::isinf(value)) return std::nullopt;
  const double whole = std::trunc(value);
  if (whole >= 9223372036854775808.0 || whole < -9223372036854775808.0) {
    throw UnsupportedError("an integer of more than 64 bits");
  }
  return Value::integer(static_cast<std::int64_t>(whole), origin);
}

Text from_indent(const Value& value, Runtime& runtime) {
  if (const Text* text = value.string()) return *text;
  const std::int64_t width = integer_of("indent", value);
  if (width > 1000) throw LimitError("an indent of more than 1000 spaces");
  TextBuilder spaces(runtime);
  if (width > 0) spaces.append(std::string(static_cast<std::size_t>(width), ' '), value.origin());
  return spaces.take();
}

}  // namespace

Value upper(Runtime& runtime, const Value& value, const Arguments& arguments) {
  bind("upper", arguments, {});
  return Value::string(jinja::upper(runtime, str(runtime, value)));
}

Value lower(Runtime& runtime, const Value& value, const Arguments& arguments) {
  bind("lower", arguments, {});
  return Value::string(jinja::lower(runtime, str(runtime, value)));
}

Value capitalize(Runtime& runtime, const Value& value, const Arguments& arguments) {
  bind("capitalize", arguments, {});
  return Value::string(capitalized(runtime, str(runtime, value)));
}

Value title(Runtime& runtime, const Value& value, const Arguments& arguments) {
  bind("title", arguments, {});
  return Value::string(titled_by_jinja(runtime, str(runtime, value)));
}

Value trim(Runtime& runtime, const Value& value, const Arguments& arguments) {
  const auto bound = bind("trim", arguments, {"chars"});
  const bool has_chars = bound[0] && !bound[0]->is_none();
  const Text* chars = has_chars ? &string_of("trim", *bound[0]) : nullptr;
  return Value::string(stripped(runtime, str(runtime, value), chars, true, true));
}

Value replace(Runtime& runtime, const Value& value, const Arguments& arguments) {
  const auto bound = bind("replace", arguments, {"old", "new", "count"});
  if (!bound[0] || !bound[1]) throw TemplateError("replace: needs two arguments");
  const bool has_count = bound[2] && !bound[2]->is_none();
  return Value::string(replaced(runtime, str(runtime, value), str(runtime, *bound[0]),
                                str(runtime, *bound[1]),
                                has_count ? integer_of("replace", *bound[2]) : -1));
}

Value string(Runtime& runtime, const Value& value, const Arguments& arguments) {
  bind("string", arguments, {});
  return value.string() ? value : Value::string(str(runtime, value));
}

Value escape(Runtime& runtime, const Value& value, const Arguments& arguments) {
  return value.is_markup() ? value : forceescape(runtime, value, arguments);
}

Value forceescape(Runtime& runtime, const Value& value, const Arguments& arguments) {
  bind("escape", arguments, {});
  return Value::string(escaped(runtime, str(runtime, value))).as_markup();
}

Value safe(Runtime& runtime, const Value& value, const Arguments& arguments) {
  return string(runtime, value, arguments).as_markup();
}

Value default_value(Runtime&, const Value& value, const Arguments& arguments) {
  const auto bound = bind("default", arguments, {"default_value", "boolean"});
  const bool is_replaced = value.is_undefined() || (truth_of(bound[1], false) && !value.truth());
  if (!is_replaced) return value;
  return bound[0] ? *bound[0] : Value::literal("");
}

Value tojson(Runtime& runtime, const Value& value, const Arguments& arguments) {
  const auto bound =
      bind("tojson", arguments, {"ensure_ascii", "indent", "separators", "sort_keys"});
  JsonStyle style;
  style.ensure_ascii = truth_of(bound[0], false);
  if (bound[1] && !bound[1]->is_none()) style.indent = from_indent(*bound[1], runtime);
  if (bound[2] && !bound[2]->is_none()) {
    const auto pair = bound[2]->sequence();
    if (!pair || pair->items.size() != 2)
      throw TemplateError("tojson: separators must be two strings");
    style.item_separator = string_of("tojson", pair->items[0]);
    style.key_separator = string_of("tojson", pair->items[1]);
  }
  style.sort_keys = truth_of(bound[3], false);
  return Value::string(json(runtime, value, style));
}

// Every line but the first, and no empty one, unless asked.
Value indent(Runtime& runtime, const Value& value, const Arguments& arguments) {
  const auto bound = bind("indent", arguments, {"width", "first", "blank"});
  const Text margin = bound[0] ? from_indent(*bound[0], runtime)
                               : from_indent(Value::integer(4, Origin::kTemplate), runtime);
  TextBuilder whole(runtime);
  whole.append(string_of("indent", value));
  whole.append("\n", Origin::kTemplate);
  const auto lines = split_lines(runtime, whole.take(), false);
  const bool blank = truth_of(bound[2], false);
  TextBuilder out(runtime);
  if (truth_of(bound[1], false)) out.append(margin);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (i > 0) {
      out.append("\n", Origin::kTemplate);
      if (blank || !lines[i].text().empty()) out.append(margin);
    }
    out.append(lines[i]);
  }
  return Value::string(out.take());
}

Value absolute(Runtime&, const Value& value, const Arguments& arguments) {
  bind("abs", arguments, {});
  if (value.real()) return Value::real(std::fabs(*value.real()), value.origin());
  if (value.is_undefined()) throw TemplateError(value.why_undefined());
  if (value.big_integer()) throw UnsupportedError("arithmetic beyond 64 bits");
  if (!value.integer())
    throw TemplateError("bad operand type for abs(): '" + std::string(value.type_name()) + "'");
  return *value.integer() < 0 ? negative(value) : positive(value);
}

Value int_value(Runtime& runtime, const Value& value, const Arguments& arguments) {
  const auto bound = bind("int", arguments, {"default", "base"});
  if (bound[1] && !(bound[1]->integer() && *bound[1]->integer() == 10))
    throw UnsupportedError("filter 'int' with a base");
  const Value otherwise = bound[0] ? *bound[0] : Value::integer(0, Origin::kTemplate);
  if (value.is_undefined()) throw TemplateError(value.why_undefined());
  if (value.big_integer()) return value;
  if (value.integer()) return Value::integer(*value.integer(), value.origin());
  if (value.real()) return integer_from(*value.real(), value.origin()).value_or(otherwise);
  if (!value.string()) return otherwise;
  const std::string text = stripped_text(runtime, *value.string()).text();
  if (const auto whole = parsed_integer(text)) return Value::integer(*whole, value.origin());
  if (const auto number = parsed_float(text))
    return integer_from(*number, value.origin()).value_or(otherwise);
  return otherwise;
}

Value float_value(Runtime& runtime, const Value& value, const Arguments& arguments) {
  const auto bound = bind("float", arguments, {"default"});
  const Value otherwise = bound[0] ? *bound[0] : Value::real(0.0, Origin::kTemplate);
  if (value.is_undefined()) throw TemplateError(value.why_undefined());
  if (value.big_integer()) throw UnsupportedError("arithmetic beyond 64 bits");
  if (value.real()) return value;
  if (value.integer()) return Value::real(static_cast<double>(*value.integer()), value.origin());
  if (!value.string()) return otherwise;
  const auto number = parsed_float(stripped_text(runtime, *value.string()).text());
  return number ? Value::real(*number, value.origin()) : otherwise;
}

// Python's round(): to the nearest, ties of the exact binary value to even.
Value round(Runtime&, const Value& value, const Arguments& arguments) {
  const auto bound = bind("round", arguments, {"precision", "method"});
  const std::string method = bound[1] ? string_of("round", *bound[1]).text() : "common";
  const std::int64_t precision = bound[0] ? integer_of("round", *bound[0]) : 0;
  if (method != "common" && method != "ceil" && method != "floor") {
    throw TemplateError("round: method must be common, ceil or floor");
  }
  if (value.is_undefined()) throw TemplateError(value.why_undefined());
  if (value.big_integer()) throw UnsupportedError("arithmetic beyond 64 bits");
  if (!value.is_number())
    throw TemplateError("round: needs a number, not '" + std::string(value.type_name()) + "'");
  if (precision < 0 || precision > 15)
    throw UnsupportedError("round to " + std::to_string(precision) + " digits");
  if (method == "common") {
    if (value.integer()) return Value::integer(*value.integer(), value.origin());
    if (!std::isfinite(*value.real())) return value;
    char digits[400];
    std::snprintf(digits, sizeof digits, "%.*f", static_cast<int>(precision), *value.real());
    return Value::real(std::strtod(digits, nullptr), value.origin());
  }
  const double number = value.real() ? *value.real() : static_cast<double>(*value.integer());
  double scale = 1.0;
  for (std::int64_t i = 0; i < precision; ++i) scale *= 10.0;
  if (!std::isfinite(number * scale)) throw TemplateError("round: cannot convert to an integer");
  const double whole = method == "ceil" ? std::ceil(number * scale) : std::floor(number * scale);
  return Value::real((whole + 0.0) / scale, value.origin());
}

}  // namespace octlm::model::jinja::filters
