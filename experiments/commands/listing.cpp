#include "experiments/commands/listing.h"

#include <ostream>
#include <set>
#include <string>

#include "verify/metrics/metrics.h"

namespace octlm::experiments {

void list_kinds(std::ostream& out, const std::vector<verify::Kind>& kinds) {
  for (const auto& kind : kinds) out << kind.name << "  " << kind.summary << '\n';
}

void list_metrics(std::ostream& out, const std::vector<verify::Kind>& kinds) {
  std::set<std::string> listed;
  const auto list = [&](const std::vector<verify::MetricDefinition>& metrics) {
    for (const auto& metric : metrics) {
      if (!listed.insert(metric.name).second) continue;
      out << metric.name << "  " << metric.meaning
          << (metric.unit.empty() ? "" : " [" + metric.unit + "]") << '\n';
    }
  };
  list(verify::metric_definitions());
  for (const auto& kind : kinds) list(kind.metrics);
}

}  // namespace octlm::experiments
