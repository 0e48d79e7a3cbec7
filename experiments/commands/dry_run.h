// What a run of a spec would need and take here, without running it: for `octlm check`.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "experiments/engines/environment.h"
#include "verify/kind.h"
#include "verify/spec.h"

namespace octlm::experiments {

// Prints where the checkpoint is (or how to get it), the files of it that are others than the spec
// names, an estimate of time and memory, and what unwritten_places lists. Hashes the checkpoint's
// files; computes nothing.
void print_dry_run(std::ostream& out, const verify::Spec& spec,
                   const std::vector<verify::ComparisonKey>& plan, const Environment& environment);

// The places of a spec whose text is still what `octlm new` left to be replaced: "$.question".
std::vector<std::string> unwritten_places(const verify::Spec& spec);

}  // namespace octlm::experiments
