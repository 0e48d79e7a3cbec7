// The `loop` variable of a for loop. Items are drawn one at a time: a loop's `if` is asked when its
// item is due, which the body can influence through a namespace.
#pragma once

#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "model/chat_template/runtime.h"

namespace octlm::model::jinja {

struct LoopState {
  std::vector<Value> items;
  int depth = 0;                              // of the items, and one
  std::function<bool(const Value&)> accepts;  // the loop's `if`; may be empty
  std::size_t drawn = 0;                      // of items
  std::int64_t index0 = -1;
  std::optional<Value> before;
  std::optional<Value> current;
  std::vector<Value> ahead;  // accepted, not yet current; the next one last
  std::optional<Value> changed_value;

  // Makes the next item current; false at the end.
  bool advance();
  // The item after the current one, nullptr at the end.
  const Value* peek();
  std::int64_t length();

 private:
  std::optional<Value> draw();
};

// nullopt for an attribute that a loop does not have.
std::optional<Value> loop_attribute(Runtime& runtime, const Value& loop, std::string_view name);

}  // namespace octlm::model::jinja
