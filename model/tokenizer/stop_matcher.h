// Ends a text at the first stop string, wherever the pieces it comes in are cut
// (vllm-project/vllm#3672). Text that may still turn out to be the beginning of a stop string is
// held back.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace octlm::model {

class StopMatcher {
 public:
  // Throws std::invalid_argument when a string is empty.
  explicit StopMatcher(std::vector<std::string> stop_strings);

  // The text that is certain to stand before any stop string. Once a stop string is complete, the
  // text before it is given out and stopped() holds; of several that end at the same byte, the
  // longest counts. REQUIRES: !stopped().
  std::string push(std::string_view text);
  // What was held back, when the text ended by itself.
  std::string finish();

  bool stopped() const { return !matched_.empty(); }
  // The stop string that was found, or "".
  const std::string& matched() const { return matched_; }

 private:
  // Knuth, Morris and Pratt: how much of the string the text ends with.
  struct Stop {
    std::string text;
    std::vector<std::size_t> failure;
    std::size_t state = 0;
    bool advance(char c);  // true when the text now ends with the whole string
  };

  std::vector<Stop> stops_;
  std::string held_;
  std::string matched_;
};

}  // namespace octlm::model
