#include "reference/request.h"

#include <bit>
#include <numeric>
#include <stdexcept>
#include <string>

#include "formats/sha256.h"

namespace octlm::reference {
namespace {

[[noreturn]] void refuse(const std::string& what) {
  throw std::invalid_argument("[request] " + what);
}

std::string range(std::int64_t first, std::int64_t end) {
  return "[" + std::to_string(first) + ", " + std::to_string(end) + ")";
}

void check_positions(std::span<const std::int64_t> positions, std::int64_t first,
                     std::int64_t end) {
  std::int64_t least = first;
  for (const std::int64_t position : positions) {
    if (position < least || position >= end) {
      refuse("wanted position " + std::to_string(position) + " is out of order or outside " +
             range(first, end));
    }
    least = position + 1;
  }
}

void check_ids(std::span<const std::int32_t> ids, std::int64_t first, std::int64_t vocab) {
  if (ids.empty()) refuse("token_ids is empty: there is no position to compute");
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] < 0 || (vocab > 0 && ids[i] >= vocab)) {
      refuse("token id " + std::to_string(ids[i]) + " at position " +
             std::to_string(first + static_cast<std::int64_t>(i)) + " is outside " +
             (vocab > 0 ? range(0, vocab) : "the vocabulary"));
    }
  }
}

}  // namespace

void check_request(const LogitRequest& request, std::int64_t vocab, std::int64_t max_positions) {
  const auto n = static_cast<std::int64_t>(request.token_ids.size());
  if (max_positions > 0 && n > max_positions) {
    refuse(std::to_string(n) + " token ids are more than the model's " +
           std::to_string(max_positions) + " positions");
  }
  check_ids(request.token_ids, 0, vocab);
  check_positions(request.positions, 0, n);
  if (!request.path.calls(n)) {
    refuse("the path " + request.path.text() + " has nothing to do for " + std::to_string(n) +
           " position");
  }
}

std::vector<std::int64_t> wanted_positions(const LogitRequest& request) {
  if (!request.positions.empty()) return request.positions;
  std::vector<std::int64_t> all(request.token_ids.size());
  std::iota(all.begin(), all.end(), 0);
  return all;
}

std::string sha256_of_ids(std::span<const std::int32_t> token_ids) {
  static_assert(std::endian::native == std::endian::little, "ids are hashed as they lie in memory");
  return formats::sha256({reinterpret_cast<const char*>(token_ids.data()), token_ids.size_bytes()});
}

std::int64_t session_capacity(const SessionOptions& options, std::int64_t max_positions) {
  if (options.capacity < 0 || (max_positions > 0 && options.capacity > max_positions)) {
    refuse("a session for " + std::to_string(options.capacity) + " positions; the model has " +
           std::to_string(max_positions));
  }
  return options.capacity > 0 ? options.capacity : max_positions;
}

void check_append(std::span<const std::int32_t> ids, std::span<const std::int64_t> wanted,
                  std::int64_t length, std::int64_t vocab, std::int64_t capacity) {
  const auto n = static_cast<std::int64_t>(ids.size());
  check_ids(ids, length, vocab);
  if (capacity > 0 && n > capacity - length) {
    refuse(std::to_string(n) + " token ids after " + std::to_string(length) +
           " are more than the session's " + std::to_string(capacity) + " positions");
  }
  check_positions(wanted, length, length + n);
}

void check_crop(std::int64_t to, std::int64_t length) {
  if (to < 0 || to > length) {
    refuse("a session of " + std::to_string(length) + " positions cannot be cropped to " +
           std::to_string(to));
  }
}

void check_delivered(bool pending) {
  if (pending) refuse("the rows of the append before have not all been delivered");
}

}  // namespace octlm::reference
