// What `octlm list` prints of the kinds: one line each.
#pragma once

#include <iosfwd>
#include <vector>

#include "verify/kind.h"

namespace octlm::experiments {

void list_kinds(std::ostream& out, const std::vector<verify::Kind>& kinds);

// Every metric that a criterion can be about: the framework's, then what kinds measure beside them,
// each once.
void list_metrics(std::ostream& out, const std::vector<verify::Kind>& kinds);

// The planted faults that must_catch may name, and the kinds that take them.
void list_faults(std::ostream& out, const std::vector<verify::Kind>& kinds);

}  // namespace octlm::experiments
