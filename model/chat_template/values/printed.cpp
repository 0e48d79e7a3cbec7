#include "model/chat_template/values/printed.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "model/chat_template/values/comparison.h"
#include "model/chat_template/values/unicode.h"

namespace octlm::model::jinja {
namespace {

std::string hex(char32_t code_point, int digits) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4) {
    text.push_back(kDigits[(code_point >> shift) & 0xFu]);
  }
  return text;
}

std::string escaped_in_repr(char32_t c, char quote) {
  if (c == static_cast<char32_t>(quote) || c == '\\') return {'\\', static_cast<char>(c)};
  if (c == '\n') return "\\n";
  if (c == '\r') return "\\r";
  if (c == '\t') return "\\t";
  if (is_printable(c)) return "";
  return c < 0x100 ? "\\x" + hex(c, 2) : c < 0x10000 ? "\\u" + hex(c, 4) : "\\U" + hex(c, 8);
}

std::string escaped_in_json(char32_t c, bool ensure_ascii) {
  switch (c) {
    case '"':
      return "\\\"";
    case '\\':
      return "\\\\";
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    case '\f':
      return "\\f";
    case '\b':
      return "\\b";
    default:
      break;
  }
  if (c < 0x20) return "\\u" + hex(c, 4);
  if (!ensure_ascii || c < 0x7F) return "";  // Python's takes DEL for no printable ASCII
  if (c < 0x10000) return "\\u" + hex(c, 4);
  return "\\u" + hex(0xD800 + ((c - 0x10000) >> 10), 4) + "\\u" +
         hex(0xDC00 + ((c - 0x10000) & 0x3FF), 4);
}

// Each character that escape() gives a text for is replaced by it and keeps its origin.
template <typename Escape>
void append_escaped(TextBuilder& out, const Text& text, Escape escape) {
  const std::string& bytes = text.text();
  for_each_run(text, 0, bytes.size(), [&](std::string_view run, Origin origin) {
    std::size_t plain = 0;
    for (std::size_t at = 0; at < run.size();) {
      const std::size_t end = at + length_at(run, at);
      const std::string replacement = escape(code_point_at(run, at));
      if (!replacement.empty()) {
        out.append(run.substr(plain, at - plain), origin);
        out.append(replacement, origin);
        plain = end;
      }
      at = end;
    }
    out.append(run.substr(plain), origin);
  });
}

void append_repr(Runtime& runtime, TextBuilder& out, const Value& value);

void append_string_repr(TextBuilder& out, const Text& text, Origin origin) {
  const bool single = text.text().find('\'') != std::string::npos;
  const bool double_quote = text.text().find('"') != std::string::npos;
  const char quote = single && !double_quote ? '"' : '\'';
  out.append({&quote, 1}, origin);
  append_escaped(out, text, [&](char32_t c) { return escaped_in_repr(c, quote); });
  out.append({&quote, 1}, origin);
}

void append_sequence_repr(Runtime& runtime, TextBuilder& out, const Value& value) {
  const Sequence& sequence = *value.sequence();
  const Origin origin = value.origin();
  if (sequence.kind == SequenceKind::kIterator) throw UnsupportedError("printing a generator");
  if (sequence.kind == SequenceKind::kRange) throw UnsupportedError("printing a range");
  const bool is_list = sequence.kind == SequenceKind::kList;
  const bool is_tuple = sequence.kind == SequenceKind::kTuple;
  if (!is_list && !is_tuple) out.append(std::string(value.type_name()) + "(", origin);
  out.append(is_tuple ? "(" : "[", origin);
  for (std::size_t i = 0; i < sequence.items.size(); ++i) {
    if (i > 0) out.append(", ", origin);
    append_repr(runtime, out, sequence.items[i]);
  }
  if (is_tuple && sequence.items.size() == 1) out.append(",", origin);
  out.append(is_tuple ? ")" : "]", origin);
  if (!is_list && !is_tuple) out.append(")", origin);
}

void append_repr(Runtime& runtime, TextBuilder& out, const Value& value) {
  const Budget::Level level(runtime.budget);
  runtime.budget.step();
  const Origin origin = value.origin();
  if (value.is_undefined()) {
    out.append("Undefined", origin);
  } else if (value.is_none()) {
    out.append("None", origin);
  } else if (const bool* flag = value.boolean()) {
    out.append(*flag ? "True" : "False", origin);
  } else if (const auto number = value.integer()) {
    out.append(std::to_string(*number), origin);
  } else if (const BigInteger* big = value.big_integer()) {
    out.append(big->digits, origin);
  } else if (value.real()) {
    out.append(float_text(*value.real()), origin);
  } else if (const Text* text = value.string()) {
    if (value.is_markup()) out.append("Markup(", origin);
    append_string_repr(out, *text, origin);
    if (value.is_markup()) out.append(")", origin);
  } else if (value.sequence()) {
    append_sequence_repr(runtime, out, value);
  } else if (const Dict* dict = value.dict()) {
    out.append("{", origin);
    for (std::size_t i = 0; i < dict->entries.size(); ++i) {
      if (i > 0) out.append(", ", origin);
      append_repr(runtime, out, dict->entries[i].first);
      out.append(": ", origin);
      append_repr(runtime, out, dict->entries[i].second);
    }
    out.append("}", origin);
  } else {
    throw UnsupportedError("printing a " + std::string(value.type_name()));
  }
}

class JsonWriter {
 public:
  JsonWriter(Runtime& runtime, const JsonStyle& style)
      : runtime_(runtime), style_(style), out_(runtime) {}

  Text write(const Value& value) {
    append(value, 0);
    return out_.take();
  }

 private:
  void append(const Value& value, int level) {
    const Budget::Level nested(runtime_.budget);
    runtime_.budget.step();
    const Origin origin = value.origin();
    if (const Text* text = value.string()) {
      append_string(*text, origin);
    } else if (const Dict* dict = value.dict()) {
      append_object(*dict, origin, level);
    } else if (value.sequence(SequenceKind::kList) || value.sequence(SequenceKind::kTuple)) {
      append_array(*value.sequence(), origin, level);
    } else {
      const auto scalar = scalar_text(value);
      if (!scalar) {
        throw TemplateError("object of type " + std::string(value.type_name()) +
                            " is not JSON serializable");
      }
      out_.append(*scalar, origin);
    }
  }

  static std::optional<std::string> scalar_text(const Value& value) {
    if (value.is_none()) return "null";
    if (const bool* flag = value.boolean()) return *flag ? "true" : "false";
    if (const auto number = value.integer()) return std::to_string(*number);
    if (const BigInteger* number = value.big_integer()) return number->digits;
    if (const double* number = value.real()) {
      if (std::isnan(*number)) return "NaN";
      if (std::isinf(*number)) return *number > 0 ? "Infinity" : "-Infinity";
      return float_text(*number);
    }
    return std::nullopt;
  }

  void append_string(const Text& text, Origin origin) {
    out_.append("\"", origin);
    append_escaped(out_, text, [&](char32_t c) { return escaped_in_json(c, style_.ensure_ascii); });
    out_.append("\"", origin);
  }

  void append_key(const Value& key) {
    if (const Text* text = key.string()) return append_string(*text, key.origin());
    const auto scalar = scalar_text(key);
    if (!scalar) throw TemplateError("keys must be str, int, float, bool or None");
    out_.append("\"" + *scalar + "\"", key.origin());
  }

  void append_array(const Sequence& sequence, Origin origin, int level) {
    out_.append("[", origin);
    for (std::size_t i = 0; i < sequence.items.size(); ++i) {
      separate(i == 0, origin, level);
      append(sequence.items[i], level + 1);
    }
    close(sequence.items.empty(), "]", origin, level);
  }

  void append_object(const Dict& dict, Origin origin, int level) {
    std::vector<std::size_t> at(dict.entries.size());
    for (std::size_t i = 0; i < at.size(); ++i) at[i] = i;
    if (style_.sort_keys) {
      std::ranges::stable_sort(at, [&](std::size_t a, std::size_t b) {
        return order(runtime_, dict.entries[a].first, dict.entries[b].first) < 0;
      });
    }
    out_.append("{", origin);
    for (std::size_t i = 0; i < at.size(); ++i) {
      separate(i == 0, origin, level);
      append_key(dict.entries[at[i]].first);
      if (style_.key_separator) {
        out_.append(*style_.key_separator);
      } else {
        out_.append(": ", origin);
      }
      append(dict.entries[at[i]].second, level + 1);
    }
    close(at.empty(), "}", origin, level);
  }

  void separate(bool is_first, Origin origin, int level) {
    if (!is_first) {
      if (style_.item_separator) {
        out_.append(*style_.item_separator);
      } else {
        out_.append(style_.indent ? "," : ", ", origin);
      }
    }
    if (style_.indent) new_line(origin, level + 1);
  }

  void close(bool is_empty, std::string_view bracket, Origin origin, int level) {
    if (style_.indent && !is_empty) new_line(origin, level);
    out_.append(bracket, origin);
  }

  void new_line(Origin origin, int level) {
    out_.append("\n", origin);
    for (int i = 0; i < level; ++i) out_.append(*style_.indent);
  }

  Runtime& runtime_;
  const JsonStyle& style_;
  TextBuilder out_;
};

}  // namespace

std::string float_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  char buffer[40];
  const auto written = std::to_chars(buffer, buffer + sizeof buffer, std::fabs(value),
                                     std::chars_format::scientific);
  // d.ddde+XX
  const std::string_view shortest(buffer, static_cast<std::size_t>(written.ptr - buffer));
  const std::size_t e = shortest.find('e');
  int exponent = 0;
  const char* digits_of_exponent = shortest.data() + e + (shortest[e + 1] == '+' ? 2 : 1);
  std::from_chars(digits_of_exponent, written.ptr, exponent);
  std::string digits(1, shortest[0]);
  if (e > 1) digits += shortest.substr(2, e - 2);
  const std::string sign = std::signbit(value) ? "-" : "";
  const auto count = static_cast<int>(digits.size());
  if (exponent < -4 || exponent >= 16) {
    const std::string fraction = count > 1 ? "." + digits.substr(1) : "";
    const std::string size = std::to_string(std::abs(exponent));
    return sign + digits[0] + fraction + (exponent < 0 ? "e-" : "e+") +
           (size.size() < 2 ? "0" : "") + size;
  }
  if (exponent < 0)
    return sign + "0." + std::string(static_cast<std::size_t>(-exponent - 1), '0') + digits;
  if (count <= exponent + 1)
    return sign + digits + std::string(static_cast<std::size_t>(exponent + 1 - count), '0') + ".0";
  const auto whole = static_cast<std::size_t>(exponent + 1);
  return sign + digits.substr(0, whole) + "." + digits.substr(whole);
}

Text str(Runtime& runtime, const Value& value) {
  if (const Text* text = value.string()) {
    runtime.budget.bytes(text->text().size());
    return *text;
  }
  if (value.is_undefined()) return {};
  return repr(runtime, value);
}

Text repr(Runtime& runtime, const Value& value) {
  TextBuilder out(runtime);
  append_repr(runtime, out, value);
  return out.take();
}

Text json(Runtime& runtime, const Value& value, const JsonStyle& style) {
  return JsonWriter(runtime, style).write(value);
}

}  // namespace octlm::model::jinja
