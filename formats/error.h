// What is wrong with what came from outside.
#pragma once

#include <stdexcept>
#include <string>

namespace octlm::formats {

// "experiments/registered/EXP-074.json: $.tolerence: unknown key; did you mean "tolerance"?"
class FormatError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// `where` is a path, or a path and a place in it.
[[noreturn]] inline void refuse(const std::string& where, const std::string& what) {
  throw FormatError(where + ": " + what);
}

}  // namespace octlm::formats
