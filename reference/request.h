// What every engine checks of a request before anything is computed.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "reference/engine.h"

namespace octlm::reference {

// Throws std::invalid_argument for an empty list, an id outside [0, vocab), more ids than
// max_positions, a wanted position outside the sequence or out of order, and a path that has
// nothing to do.
void check_request(const LogitRequest& request, std::int64_t vocab, std::int64_t max_positions);

// request.positions, or every position when that is empty.
std::vector<std::int64_t> wanted_positions(const LogitRequest& request);

// Of the ids as little-endian 32-bit integers.
std::string sha256_of_ids(std::span<const std::int32_t> token_ids);

}  // namespace octlm::reference
