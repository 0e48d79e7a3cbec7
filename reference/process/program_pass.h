// A pass with a program of its own: one request on stdin, one answer, one tensor, and the end.
#pragma once

#include <memory>

#include "reference/process/program.h"

namespace octlm::reference {

// Starts the program. REQUIRES: check_request has let the request through.
std::unique_ptr<LogitPass> start_program_pass(std::shared_ptr<ProgramShared> shared,
                                              const LogitRequest& request);

// Starts it with nothing on stdin, reads its line of capabilities, and ends it.
Greeting ask_capabilities(const ProcessOptions& options);

}  // namespace octlm::reference
