// JSON Canonicalization Scheme, RFC 8785: one text for one value, so that it can be hashed.
// Keys sorted by UTF-16 code units, numbers as ECMAScript writes them, minimal escapes, no white
// space, no Unicode normalisation.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace octlm::formats {

// Throws std::invalid_argument for what the scheme cannot hold: non-finite numbers, integers that
// no double holds, strings that are not UTF-8.
std::string canonical_json(const nlohmann::json& value);

// ECMAScript's Number::toString of a finite number: 1e-7, 0.000001, 1e+21, 333333333.3333333.
std::string ecmascript_number(double value);

}  // namespace octlm::formats
