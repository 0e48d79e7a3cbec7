// The JSON files of a checkpoint: the limits they are read with. Used inside model/ only.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "formats/error.h"
#include "formats/quoted.h"
#include "formats/strict_json.h"

namespace octlm::model {

using formats::as_found;
using formats::in_quotes;
using formats::refuse;
using Json = nlohmann::json;

// config.json needs a depth of 3. Integers beyond 64 bits are common: tokenizer_config.json's
// model_max_length is int(1e30) where no limit is meant. A field that is read refuses them by name.
inline constexpr formats::JsonLimits kCheckpointJson{.depth = 16,
                                                     .values = 4'000'000,
                                                     .least_integer = INT64_MIN,
                                                     .greatest_integer = UINT64_MAX,
                                                     .digits_beyond = true};

// Throws FormatError that starts with `where`.
inline Json parse_checkpoint_json(std::string_view text, const std::string& where) {
  return formats::parse_strict(text, where, kCheckpointJson);
}

}  // namespace octlm::model
