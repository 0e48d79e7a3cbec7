#include "experiments/commands/listing.h"

#include <ostream>
#include <set>
#include <string>

#include "experiments/commands/json_output.h"
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

void list_faults(std::ostream& out, const std::vector<verify::Kind>& kinds) {
  const auto document = faults_json(kinds);
  for (const auto& fault : document["faults"]) {
    out << fault["name"].get<std::string>() << " ";
    for (const auto& kind : fault["kinds"]) out << ' ' << kind.get<std::string>();
    out << '\n';
  }
}

}  // namespace octlm::experiments
