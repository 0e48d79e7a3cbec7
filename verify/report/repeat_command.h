// The command that repeats a run, or one experiment of it, so that it can be pasted as it stands on
// a page: every argument that the verdict depends on is in it, and no folder of an earlier run.
#pragma once

#include <string>

#include "verify/result.h"

namespace octlm::verify {

// Of the whole run: in the program's words, or as it was typed when the program has none for it.
std::string repeat_command(const RunResult& run);

// Of one experiment, on one device ("": as the run was). "" when there is none that is safe to
// paste: the id is no word, or something in it could not be shown as it is.
std::string repeat_command(const RunResult& run, const ExperimentResult& experiment,
                           const std::string& device);

}  // namespace octlm::verify
