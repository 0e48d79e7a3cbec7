// The lines of the logits filter, read strictly (docs/logits-filter.md). All of these throw
// std::runtime_error that shows the line and says what is wrong with it.
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "reference/engine.h"

namespace octlm::reference {

struct Greeting {
  std::string line;  // as it was written
  std::string name;
  std::string version;
  Capabilities capabilities;
  bool session = false;  // it stays, and is asked one line after the other
};

Greeting read_greeting(const std::string& line);
// The first line of a start that is not the first must be the same.
void check_greeting(const std::string& line, const Greeting& asked_first);
// {"ready": true}: the checkpoint is loaded.
void check_ready(const std::string& line);

// What one answer has to be about.
struct Asked {
  std::int64_t first_position = 0;
  std::int64_t positions = 0;
  std::int64_t rows = 0;
  std::int64_t vocab = 0;  // 0 = not known: any width
  // The forward calls that it may be made of; nullopt: any that cover the positions in order.
  std::optional<std::vector<ForwardCall>> calls;
  std::string how;  // for a message: "the path full"
};

struct Answer {
  std::int64_t vocab = 0;
  std::vector<ForwardCall> calls;  // empty when it does not report them
};

// The program's own refusal, which leaves it as it was.
class RefusedError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Throws RefusedError for {"error"}.
Answer read_answer(const std::string& line, const Asked& asked);

}  // namespace octlm::reference
