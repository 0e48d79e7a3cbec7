#include "verify/report/repeat_command.h"

#include "verify/report/escape.h"

namespace octlm::verify {
namespace {

// A command with a control character would be pasted as another than the page shows.
std::string if_shown_as_it_is(const std::string& command) {
  return for_terminal(command) == command ? command : "";
}

bool is_word(const std::string& id) {
  constexpr const char* kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
  return !id.empty() && !id.starts_with("-") && id.find_first_not_of(kPlain) == std::string::npos;
}

}  // namespace

std::string repeat_command(const RunResult& run) {
  const Program& program = run.info.program;
  if (program.repeat && run.info.request.is_object()) {
    const std::string command = if_shown_as_it_is(program.repeat({.request = run.info.request}));
    if (!command.empty()) return command;
  }
  return run.info.command;
}

std::string repeat_command(const RunResult& run, const ExperimentResult& experiment,
                           const std::string& device) {
  const Program& program = run.info.program;
  if (program.launcher.empty() || !is_word(experiment.id)) return "";
  const std::string known = program.has_device(device) ? device : "";
  if (program.repeat && run.info.request.is_object()) {
    return if_shown_as_it_is(program.repeat({.request = run.info.request,
                                             .experiment = experiment.id,
                                             .spec_file = experiment.spec_file,
                                             .device = known}));
  }
  return program.launcher + " run " + experiment.id + (known.empty() ? "" : " --device " + known);
}

}  // namespace octlm::verify
