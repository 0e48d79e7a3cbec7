// How a sequence of n positions is split into forward calls: a spec calls it a path. All splits
// compute the same function; which one ran is proved by the calls an engine reports.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace octlm::reference {

// One forward call: it computed positions [first_position, first_position + positions).
struct ForwardCall {
  std::int64_t first_position = 0;
  std::int64_t positions = 0;
  friend bool operator==(const ForwardCall&, const ForwardCall&) = default;
};

class Split {
 public:
  // "full", "cached:half", "cached:every", "chunked:N" (N >= 1).
  // Throws std::invalid_argument that lists them.
  static Split parse(std::string_view text);
  static Split full() { return parse("full"); }

  const std::string& text() const { return text_; }
  // What an engine says that it can do: the text, but "chunked" for every N.
  std::string kind() const;

  // The calls for n >= 1 positions:
  //   full          [0, n)
  //   cached:half   [0, max(1, n/2)), then the rest; nothing to do for n = 1: nullopt
  //   cached:every  n calls of one
  //   chunked:N     N at a time, the last one shorter
  std::optional<std::vector<ForwardCall>> calls(std::int64_t n) const;

 private:
  enum class Kind { kFull, kCachedHalf, kCachedEvery, kChunked };
  Kind kind_ = Kind::kFull;
  std::int64_t chunk_ = 0;
  std::string text_ = "full";
};

}  // namespace octlm::reference
