#include "experiments/commands/filter.h"

#include <cstdio>
#include <iostream>
#include <stdexcept>
#include <string>

#include "verify/runner.h"

namespace octlm::experiments {
namespace {

nlohmann::json reply_to(const std::string& line, const std::string& where,
                        const LineAnswer& answer) {
  try {
    return answer(line, where);
  } catch (const std::invalid_argument& error) {
    return {{"error", error.what()}};
  } catch (const formats::FormatError& error) {
    return {{"error", error.what()}};
  }
}

}  // namespace

int run_line_filter(std::istream& in, std::ostream& out, const LineAnswer& answer) {
  int exit_code = verify::kExitPass;
  std::string line;
  for (std::int64_t number = 1; std::getline(in, line); ++number) {
    const nlohmann::json reply = reply_to(line, "stdin:" + std::to_string(number), answer);
    if (reply.contains("error")) exit_code = verify::kExitError;
    print_line(out, reply);
  }
  if (&in == &std::cin && std::ferror(stdin) != 0)
    throw std::runtime_error("standard input: cannot be read");
  return exit_code;
}

int run_filter(std::istream& in, std::ostream& out, const Answer& answer) {
  std::int64_t number = 0;
  return run_line_filter(in, out, [&](const std::string& line, const std::string& where) {
    const std::int64_t current = number++;
    const auto document = formats::parse_strict(line, where);
    return answer(formats::Reader(document, where), current);
  });
}

void print_line(std::ostream& out, const nlohmann::json& line) {
  out << line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << std::endl;
  if (!out) throw std::runtime_error("an answer cannot be written");
}

}  // namespace octlm::experiments
