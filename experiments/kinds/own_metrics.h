// What kinds measure beside the metrics of verify/metrics/metrics.h, for `octlm list --metrics`.
// The definitions are in docs/metrics.md and in the headers of the kinds.
#pragma once

#include <vector>

#include "verify/metrics/metrics.h"

namespace octlm::experiments {

const std::vector<verify::MetricDefinition>& own_metrics();

}  // namespace octlm::experiments
