// + - * / // % ** and the signs, as Python's, on int (64 bits: beyond that is refused), float, str,
// list, tuple.
#pragma once

#include "model/chat_template/runtime.h"

namespace octlm::model::jinja {

enum class Arithmetic { kAdd, kSubtract, kMultiply, kDivide, kFloorDivide, kModulo, kPower };

Value arithmetic(Runtime& runtime, Arithmetic operation, const Value& a, const Value& b);
Value negative(const Value& value);
Value positive(const Value& value);

}  // namespace octlm::model::jinja
