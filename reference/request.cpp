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

void check_positions(const std::vector<std::int64_t>& positions, std::int64_t n) {
  std::int64_t least = 0;
  for (const std::int64_t position : positions) {
    if (position < least || position >= n) {
      refuse("wanted position " + std::to_string(position) + " is out of order or outside [0, " +
             std::to_string(n) + ")");
    }
    least = position + 1;
  }
}

}  // namespace

void check_request(const LogitRequest& request, std::int64_t vocab, std::int64_t max_positions) {
  const auto n = static_cast<std::int64_t>(request.token_ids.size());
  if (n == 0) refuse("token_ids is empty: there is no position to compute");
  if (n > max_positions) {
    refuse(std::to_string(n) + " token ids are more than the model's " +
           std::to_string(max_positions) + " positions");
  }
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int32_t id = request.token_ids[static_cast<std::size_t>(i)];
    if (id < 0 || id >= vocab) {
      refuse("token id " + std::to_string(id) + " at position " + std::to_string(i) +
             " is outside [0, " + std::to_string(vocab) + ")");
    }
  }
  check_positions(request.positions, n);
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

}  // namespace octlm::reference
