// What `run --dry-run` says.
#pragma once

#include <iosfwd>
#include <vector>

#include "experiments/engines/local_environment.h"
#include "formats/error.h"
#include "verify/run_preview.h"

namespace octlm::experiments {

// Each experiment with its label, its devices and how many comparisons are on each, what of it is
// missing here, and about how long it takes; then the sums.
void print_preview(std::ostream& out, const verify::RunPreview& preview,
                   const std::vector<verify::RunItem>& items, const LocalOptions& local);

}  // namespace octlm::experiments
