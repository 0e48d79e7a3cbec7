// What one rendering may spend. Everything the interpreter does is charged here, so that a template
// that loops, recurses or grows without end becomes one error, in bounded time and memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "model/chat_template/errors.h"

namespace octlm::model {

struct Limits {
  std::size_t output_bytes = 16u << 20;  // of the rendered chat, and of any one string
  std::size_t value_bytes = 256u << 20;  // made in all, strings and list items
  std::uint64_t steps = 10'000'000;      // nodes evaluated, items visited, comparisons made
  int depth = 400;                       // nested evaluations, macro calls included
  int value_depth = 100;                 // nested lists and objects
};

class Budget {
 public:
  explicit Budget(const Limits& limits) : limits_(limits) {}

  void step(std::uint64_t count = 1) {
    steps_ += count;
    if (steps_ > limits_.steps) {
      throw LimitError("more than " + std::to_string(limits_.steps) + " steps: does it end?");
    }
  }

  void bytes(std::size_t count) {
    bytes_ += count;
    if (bytes_ > limits_.value_bytes) {
      throw LimitError("values of more than " + std::to_string(limits_.value_bytes) + " bytes");
    }
  }

  void string_size(std::size_t size) const {
    if (size > limits_.output_bytes) {
      throw LimitError("a text of more than " + std::to_string(limits_.output_bytes) + " bytes");
    }
  }

  void value_depth(int depth) const {
    if (depth > limits_.value_depth) {
      throw LimitError("values nested more than " + std::to_string(limits_.value_depth) + " deep");
    }
  }

  // Held for as long as one evaluation is under way.
  class Level {
   public:
    explicit Level(Budget& budget) : budget_(budget) {
      if (budget_.level_ >= budget_.limits_.depth) {
        throw LimitError("evaluation nested more than " + std::to_string(budget_.limits_.depth) +
                         " deep: does it recurse without end?");
      }
      ++budget_.level_;
    }
    ~Level() { --budget_.level_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

   private:
    Budget& budget_;
  };

 private:
  Limits limits_;
  std::uint64_t steps_ = 0;
  std::size_t bytes_ = 0;
  int level_ = 0;
};

}  // namespace octlm::model
