#include "experiments/commands/preview_text.h"

#include <algorithm>
#include <cmath>
#include <ostream>

#include "experiments/commands/dry_run.h"
#include "experiments/engines/engine_table.h"
#include "experiments/engines/octlm_engine.h"
#include "experiments/kinds/model_experiment.h"

namespace octlm::experiments {
namespace {

std::string seconds_text(double seconds) {
  return "about " + std::to_string(std::llround(std::max(1.0, seconds))) + " s";
}

// What one experiment lacks here, and how long it takes where it lacks nothing.
struct Needs {
  std::vector<std::string> missing;
  std::optional<double> seconds;
};

bool is_of_octlm(const verify::Spec& spec) {
  const auto subject = spec.raw.find("subject");
  return subject != spec.raw.end() && subject->is_object() &&
         subject->value("engine", "") == "octlm";
}

Needs needs_of(const verify::RunItem& item, const verify::RunPreview::Experiment& planned,
               const LocalOptions& local) {
  Needs needs;
  const ModelExperiment* experiment = about_a_model(*item.experiment);
  if (experiment == nullptr) return needs;
  const auto found = find_checkpoint(experiment->model(), local.models);
  if (const auto* absent = std::get_if<verify::NotRun>(&found)) {
    needs.missing.push_back(absent->reason);
  } else {
    const auto estimate = estimate_of(*experiment, std::get<CheckpointFolder>(found).path);
    if (estimate) needs.seconds = estimate->seconds;
  }
  if (experiment->work().python && !local.recorded) {
    if (const auto absent = without_python()) needs.missing.push_back(absent->reason);
  }
  const auto devices = octlm_capabilities().devices;
  for (const auto& device : planned.devices) {
    const bool ours = local.subject.empty() && is_of_octlm(item.spec);
    if (ours && std::ranges::find(devices, device.name) == devices.end())
      needs.missing.push_back("this build has no " + device.name + " backend");
  }
  return needs;
}

}  // namespace

void print_preview(std::ostream& out, const verify::RunPreview& preview,
                   const std::vector<verify::RunItem>& items, const LocalOptions& local) {
  std::int64_t comparisons = 0, kept = 0, uncounted = 0;
  double seconds = 0;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const auto& planned = preview.experiments[i];
    const Needs needs = needs_of(items[i], planned, local);
    uncounted += planned.trust.counts() ? 0 : 1;
    out << items[i].spec.id << "  " << planned.trust.label << "  " << items[i].spec.kind << "  "
        << items[i].spec.title << '\n';
    for (const auto& device : planned.devices) {
      comparisons += device.comparisons;
      kept += device.kept;
      out << "  " << device.name << ": " << device.comparisons << " comparisons\n";
    }
    for (const std::string& missing : needs.missing) out << "  missing: " << missing << '\n';
    if (needs.seconds) out << "  " << seconds_text(*needs.seconds) << " on the cpu here (rough)\n";
    seconds += needs.seconds.value_or(0);
  }
  out << items.size() << " experiments, " << comparisons << " comparisons";
  if (kept > 0) out << ", of which " << kept << " are finished already";
  if (seconds > 0) out << ", " << seconds_text(seconds) << " on the cpu here (rough)";
  out << "; nothing was run or written\n";
  if (uncounted > 0) {
    out << uncounted << " of them would not count: a run ends with exit code 3\n";
  }
}

}  // namespace octlm::experiments
