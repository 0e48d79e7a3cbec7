#include "model/chat_template/operators.h"

#include <cmath>
#include <limits>

#include "model/chat_template/values/text_pieces.h"

namespace octlm::model::jinja {
namespace {

constexpr std::string_view kSigns[] = {"+", "-", "*", "/", "//", "%", "**"};

[[noreturn]] void refuse_types(Arithmetic operation, const Value& a, const Value& b) {
  throw TemplateError("unsupported operand types for " +
                      std::string(kSigns[static_cast<std::size_t>(operation)]) + ": '" +
                      std::string(a.type_name()) + "' and '" + std::string(b.type_name()) + "'");
}

double as_double(const Value& value) {
  return value.real() ? *value.real() : static_cast<double>(*value.integer());
}

std::int64_t power(std::int64_t base, std::int64_t exponent) {
  std::int64_t result = 1;
  while (exponent > 0) {
    bool overflow = (exponent & 1) != 0 && __builtin_mul_overflow(result, base, &result);
    exponent >>= 1;
    overflow = overflow || (exponent > 0 && __builtin_mul_overflow(base, base, &base));
    if (overflow) throw UnsupportedError("an integer of more than 64 bits");
  }
  return result;
}

// Rounds towards minus infinity, as Python does.
std::int64_t floor_divide(std::int64_t a, std::int64_t b) {
  const std::int64_t quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

Value integers(Arithmetic operation, std::int64_t a, std::int64_t b, Origin origin) {
  const bool divides = operation == Arithmetic::kDivide || operation == Arithmetic::kFloorDivide ||
                       operation == Arithmetic::kModulo;
  if (divides && b == 0) throw TemplateError("division by zero");
  std::int64_t result = 0;
  bool overflow = false;
  switch (operation) {
    case Arithmetic::kAdd:
      overflow = __builtin_add_overflow(a, b, &result);
      break;
    case Arithmetic::kSubtract:
      overflow = __builtin_sub_overflow(a, b, &result);
      break;
    case Arithmetic::kMultiply:
      overflow = __builtin_mul_overflow(a, b, &result);
      break;
    case Arithmetic::kDivide: {
      constexpr std::int64_t kExact = std::int64_t{1} << 53;
      if (a > kExact || a < -kExact || b > kExact || b < -kExact) {
        throw UnsupportedError("dividing integers beyond 2**53");
      }
      return Value::real(static_cast<double>(a) / static_cast<double>(b), origin);
    }
    case Arithmetic::kFloorDivide:
    case Arithmetic::kModulo:
      if (b == -1) {
        result = 0;
        if (operation == Arithmetic::kFloorDivide) overflow = __builtin_sub_overflow(0, a, &result);
      } else {
        result = floor_divide(a, b);
        if (operation == Arithmetic::kModulo) result = a - result * b;
      }
      break;
    case Arithmetic::kPower:
      if (b >= 0) {
        result = power(a, b);
        break;
      }
      if (a == 0) throw TemplateError("zero cannot be raised to a negative power");
      return Value::real(std::pow(static_cast<double>(a), static_cast<double>(b)), origin);
  }
  if (overflow) throw UnsupportedError("an integer of more than 64 bits");
  return Value::integer(result, origin);
}

double float_modulo(double a, double b) {
  double rest = std::fmod(a, b);
  if (rest != 0.0) {
    if ((rest < 0) != (b < 0)) rest += b;
    return rest;
  }
  return std::copysign(0.0, b);
}

double float_floor_divide(double a, double b) {
  double rest = std::fmod(a, b);
  double quotient = (a - rest) / b;
  if (rest != 0.0 && (rest < 0) != (b < 0)) quotient -= 1.0;
  if (quotient == 0.0) return std::copysign(0.0, a / b);
  const double whole = std::floor(quotient);
  return quotient - whole > 0.5 ? whole + 1.0 : whole;
}

double doubles(Arithmetic operation, double a, double b) {
  const bool divides = operation == Arithmetic::kDivide || operation == Arithmetic::kFloorDivide ||
                       operation == Arithmetic::kModulo;
  if (divides && b == 0.0) throw TemplateError("float division by zero");
  switch (operation) {
    case Arithmetic::kAdd:
      return a + b;
    case Arithmetic::kSubtract:
      return a - b;
    case Arithmetic::kMultiply:
      return a * b;
    case Arithmetic::kDivide:
      return a / b;
    case Arithmetic::kFloorDivide:
      return float_floor_divide(a, b);
    case Arithmetic::kModulo:
      return float_modulo(a, b);
    case Arithmetic::kPower:
      break;
  }
  if (a == 0.0 && b < 0.0) throw TemplateError("0.0 cannot be raised to a negative power");
  if (a < 0.0 && std::isfinite(a) && std::isfinite(b) && b != std::floor(b)) {
    throw UnsupportedError("a complex number");
  }
  const double result = std::pow(a, b);
  if (std::isinf(result) && std::isfinite(a) && std::isfinite(b))
    throw TemplateError("float overflow");
  return result;
}

Value repeated_text(Runtime& runtime, const Text& text, std::int64_t times) {
  TextBuilder out(runtime);
  for (; times > 0 && !text.text().empty(); --times) out.append(text);
  return Value::string(out.take());
}

Value repeated_items(Runtime& runtime, const Value& value, std::int64_t times) {
  const Sequence& sequence = *value.sequence();
  std::vector<Value> items;
  for (; times > 0 && !sequence.items.empty(); --times) {
    runtime.budget.step(sequence.items.size());
    runtime.budget.bytes(sequence.items.size() * sizeof(Value));
    items.insert(items.end(), sequence.items.begin(), sequence.items.end());
  }
  return runtime.sequence(sequence.kind, std::move(items), value.origin());
}

bool is_list_or_tuple(const Value& value) {
  return value.sequence(SequenceKind::kList) || value.sequence(SequenceKind::kTuple);
}

Value concatenated(Runtime& runtime, const Value& a, const Value& b) {
  if (a.string()) {
    TextBuilder out(runtime);
    out.append(*a.string());
    out.append(*b.string());
    return Value::string(out.take());
  }
  std::vector<Value> items = a.sequence()->items;
  items.insert(items.end(), b.sequence()->items.begin(), b.sequence()->items.end());
  return runtime.sequence(a.sequence()->kind, std::move(items), joint(a.origin(), b.origin()));
}

// With a |safe string the other is escaped, and what comes out is safe again: Markup.__add__. What
// is joined by ~ is plain.
Value markup_sum(Runtime& runtime, const Value& a, const Value& b) {
  const auto safe = [&](const Value& side) {
    return side.is_markup() ? side : Value::string(escaped(runtime, *side.string()));
  };
  return concatenated(runtime, safe(a), safe(b)).as_markup();
}

}  // namespace

Value arithmetic(Runtime& runtime, Arithmetic operation, const Value& a, const Value& b) {
  if (operation == Arithmetic::kModulo && a.string()) throw UnsupportedError("formatting with '%'");
  for (const Value* side : {&a, &b}) {
    if (side->is_undefined()) throw TemplateError(side->why_undefined());
    if (side->big_integer()) throw UnsupportedError("arithmetic beyond 64 bits");
  }
  const Origin origin = joint(a.origin(), b.origin());
  if (a.integer() && b.integer()) return integers(operation, *a.integer(), *b.integer(), origin);
  if (a.is_number() && b.is_number()) {
    return Value::real(doubles(operation, as_double(a), as_double(b)), origin);
  }
  if (operation == Arithmetic::kAdd) {
    const bool is_text = a.string() && b.string();
    if (is_text && (a.is_markup() || b.is_markup())) return markup_sum(runtime, a, b);
    if (is_text) return concatenated(runtime, a, b);
    if (is_list_or_tuple(a) && b.sequence(a.sequence()->kind)) return concatenated(runtime, a, b);
  }
  if (operation == Arithmetic::kMultiply) {
    const Value& times = a.integer() ? a : b;
    const Value& value = a.integer() ? b : a;
    if (times.integer() && value.string()) {
      const Value repeated = repeated_text(runtime, *value.string(), *times.integer());
      return value.is_markup() ? repeated.as_markup() : repeated;
    }
    if (times.integer() && is_list_or_tuple(value))
      return repeated_items(runtime, value, *times.integer());
  }
  refuse_types(operation, a, b);
}

Value negative(const Value& value) {
  if (value.is_undefined()) throw TemplateError(value.why_undefined());
  if (value.big_integer()) throw UnsupportedError("arithmetic beyond 64 bits");
  if (value.real()) return Value::real(-*value.real(), value.origin());
  if (!value.integer())
    throw TemplateError("bad operand type for unary -: '" + std::string(value.type_name()) + "'");
  if (*value.integer() == std::numeric_limits<std::int64_t>::min()) {
    throw UnsupportedError("an integer of more than 64 bits");
  }
  return Value::integer(-*value.integer(), value.origin());
}

Value positive(const Value& value) {
  if (value.is_undefined()) throw TemplateError(value.why_undefined());
  if (value.real() || value.big_integer()) return value;
  if (!value.integer())
    throw TemplateError("bad operand type for unary +: '" + std::string(value.type_name()) + "'");
  return Value::integer(*value.integer(), value.origin());
}

}  // namespace octlm::model::jinja
