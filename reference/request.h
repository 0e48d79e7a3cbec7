// What every engine refuses in the same words, before anything is computed.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "reference/engine.h"

namespace octlm::reference {

// Throws std::invalid_argument for an empty list, an id outside [0, vocab), more ids than
// max_positions, a wanted position outside the sequence or out of order, and a path that has
// nothing to do. A limit of 0 is not known, and left to the engine.
void check_request(const LogitRequest& request, std::int64_t vocab, std::int64_t max_positions);

// request.positions, or every position when that is empty.
std::vector<std::int64_t> wanted_positions(const LogitRequest& request);

// Of the ids as little-endian 32-bit integers.
std::string sha256_of_ids(std::span<const std::int32_t> token_ids);
// The capacity that a session gets: the one asked for, max_positions when that is 0. Throws
// std::invalid_argument when it is negative or more than max_positions (0: not known).
std::int64_t session_capacity(const SessionOptions& options, std::int64_t max_positions);

// Session::begin's refusals, for a session of `length` positions. A limit of 0 is not known.
void check_append(std::span<const std::int32_t> ids, std::span<const std::int64_t> wanted,
                  std::int64_t length, std::int64_t vocab, std::int64_t capacity);
// Session::crop's.
void check_crop(std::int64_t to, std::int64_t length);
// For begin and crop while rows of the append before are still to be taken.
void check_delivered(bool pending);

}  // namespace octlm::reference
