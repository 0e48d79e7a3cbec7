// Filters: JSON lines in on stdin, JSON lines out on stdout, one for one and in order, so that
// anybody can check a part of octlm with their own tools (docs/logits-filter.md and
// docs/tokenizer.md).
#pragma once

#include <cstdint>
#include <functional>
#include <istream>
#include <nlohmann/json.hpp>
#include <ostream>
#include <stdexcept>
#include <string>

#include "formats/error.h"
#include "formats/json_reader.h"

namespace octlm::experiments {

// Reads the line strictly, then answers it; `number` counts from 0. What it throws as
// std::invalid_argument or formats::FormatError becomes {"error"}.
using Answer = std::function<nlohmann::json(const formats::Reader& line, std::int64_t number)>;

// The same of a line as it is, for what reads it itself (a chat, whose order of keys counts);
// `where` names it in messages.
using LineAnswer = std::function<nlohmann::json(const std::string& line, const std::string& where)>;

// What `open` gives. A checkpoint that cannot be read is an error of the world (exit code 4), while
// a spec that cannot be read is a refusal.
template <class Open>
auto opened(const Open& open) {
  try {
    return open();
  } catch (const formats::FormatError& error) {
    throw std::runtime_error(error.what());
  }
}

// A bad line is answered by {"error"} and the others go on. Returns the exit code: 4 when there was
// a bad line, else 0.
int run_filter(std::istream& in, std::ostream& out, const Answer& answer);
int run_line_filter(std::istream& in, std::ostream& out, const LineAnswer& answer);

// One line of a filter's output, at once. Throws when it is lost: nobody is served by going on.
void print_line(std::ostream& out, const nlohmann::json& line);

}  // namespace octlm::experiments
