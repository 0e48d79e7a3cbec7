// summary.md: a page that fits a CI step summary. What was not checked stands before what was.
#pragma once

#include <string>

#include "verify/result.h"

namespace octlm::verify {

std::string markdown_summary(const RunResult& run);

}  // namespace octlm::verify
