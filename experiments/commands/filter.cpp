#include "experiments/commands/filter.h"

#include <stdexcept>
#include <string>

#include "verify/runner.h"

namespace octlm::experiments {
namespace {

nlohmann::json reply_to(const std::string& line, std::int64_t number, const Answer& answer) {
  const std::string where = "stdin:" + std::to_string(number + 1);
  try {
    const auto document = verify::parse_strict(line, where);
    return answer(verify::Reader(document, where), number);
  } catch (const std::invalid_argument& error) {
    return {{"error", error.what()}};
  } catch (const verify::SpecError& error) {
    return {{"error", error.what()}};
  }
}

}  // namespace

int run_filter(std::istream& in, std::ostream& out, const Answer& answer) {
  int exit_code = verify::kExitPass;
  std::string line;
  for (std::int64_t number = 0; std::getline(in, line); ++number) {
    const nlohmann::json reply = reply_to(line, number, answer);
    if (reply.contains("error")) exit_code = verify::kExitError;
    print_line(out, reply);
  }
  return exit_code;
}

void print_line(std::ostream& out, const nlohmann::json& line) {
  out << line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << std::endl;
}

}  // namespace octlm::experiments
