#include "reference/split.h"

#include <algorithm>
#include <cassert>
#include <charconv>
#include <stdexcept>

namespace octlm::reference {
namespace {

constexpr std::string_view kChunked = "chunked:";

// N of "chunked:N"; 0 when the text is not one. Digits only, no leading zero, so that a path has
// one spelling and a record one key.
std::int64_t chunk_of(std::string_view text) {
  if (!text.starts_with(kChunked)) return 0;
  text.remove_prefix(kChunked.size());
  if (text.empty() || text.front() < '1' || text.front() > '9') return 0;
  std::int64_t chunk = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), chunk);
  return error == std::errc() && end == text.data() + text.size() ? chunk : 0;
}

}  // namespace

Split Split::parse(std::string_view text) {
  Split path;
  path.text_ = text;
  if (text == "full") {
    path.kind_ = Kind::kFull;
  } else if (text == "cached:half") {
    path.kind_ = Kind::kCachedHalf;
  } else if (text == "cached:every") {
    path.kind_ = Kind::kCachedEvery;
  } else if (path.chunk_ = chunk_of(text); path.chunk_ > 0) {
    path.kind_ = Kind::kChunked;
  } else {
    throw std::invalid_argument(
        "[path] \"" + path.text_ +
        "\" is not one of full, cached:half, cached:every, chunked:N (N >= 1)");
  }
  return path;
}

std::string Split::kind() const { return kind_ == Kind::kChunked ? "chunked" : text_; }

std::optional<std::vector<ForwardCall>> Split::calls(std::int64_t n) const {
  assert(n >= 1);
  if (kind_ == Kind::kCachedHalf) {
    if (n == 1) return std::nullopt;
    const std::int64_t half = std::max<std::int64_t>(1, n / 2);
    return std::vector<ForwardCall>{{0, half}, {half, n - half}};
  }
  const std::int64_t step = kind_ == Kind::kFull ? n : kind_ == Kind::kCachedEvery ? 1 : chunk_;
  std::vector<ForwardCall> calls;
  for (std::int64_t first = 0; first < n; first += std::min(step, n - first)) {
    calls.push_back({first, std::min(step, n - first)});
  }
  return calls;
}

}  // namespace octlm::reference
