// For tests: what was thrown, as text.
#pragma once

#include <string>

namespace octlm::formats::testing {

// What `action` throws, as text; "" when it does not.
template <class Error, class Action>
std::string message_of(const Action& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace octlm::formats::testing
