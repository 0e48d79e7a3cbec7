#include "verify/read_back.h"

#include <map>
#include <set>
#include <vector>

#include "verify/lenient_json.h"
#include "verify/lines.h"
#include "verify/runner.h"

namespace octlm::verify {
namespace {

constexpr const char* kUnended = "the run did not end: it was killed, or it is still at work";

void count_comparisons(ExperimentResult& experiment) {
  for (const ComparisonResult& comparison : experiment.comparisons) {
    DeviceResult& device = device_of(experiment.judgement, comparison.key.device);
    ++device.planned;
    if (comparison.measurement()) ++device.comparisons;
  }
}

// Its comparisons are all that is known of it.
void take_no_verdict(ExperimentResult& experiment) {
  experiment.trust.label = "unknown";
  experiment.trust.why = kUnended;
  experiment.judgement.verdict = Verdict::kNotRun;
  experiment.judgement.reason = kUnended;
  for (DeviceResult& device : experiment.judgement.devices) device.reason = kUnended;
  experiment.planned = std::ssize(experiment.comparisons);
  for (const ComparisonResult& comparison : experiment.comparisons) {
    const Measurement* measured = comparison.measurement();
    if (measured && experiment.model.empty()) {
      experiment.model = string_of(member(measured->record, "model"));
    }
  }
}

// In the order in which they appear; of each, its comparisons in theirs.
class Experiments {
 public:
  ExperimentResult& of(const std::string& id) {
    const auto [at, added] = places_.try_emplace(id, list.size());
    if (added) list.emplace_back().id = id;
    return list[at->second];
  }
  std::vector<ExperimentResult> list;

 private:
  std::map<std::string, std::size_t> places_;
};

}  // namespace

RunResult read_back(const RunFile& file, const Program& program) {
  RunResult run;
  run.info = run_from(file.run());
  run.info.folder = file.folder;
  run.info.program = program;
  Experiments experiments;
  std::set<std::string> judged;
  std::map<std::string, std::vector<std::string>> begun;  // devices, by experiment
  for (const RunFile::Line& line : file.lines) {
    const std::string type = line.type();
    if (type == "started") {  // whatever became of it
      const Started started = started_from(line.json);
      ExperimentResult& experiment = experiments.of(started.experiment);
      experiment.spec_sha256 = started.spec_sha256;
      begun[started.experiment].push_back(started.device);
    } else if (type == "comparison" || type == "not_compared") {
      experiments.of(string_of(member(line.json, "experiment")))
          .comparisons.push_back(comparison_from(line.json));
    } else if (type == "experiment") {
      ExperimentResult& experiment = experiments.of(string_of(member(line.json, "id")));
      count_comparisons(experiment);
      experiment.role = program.role_of(string_of(member(line.json, "kind")));
      take_experiment(line.json, experiment);
      judged.insert(experiment.id);
    }
  }
  run.experiments = std::move(experiments.list);
  for (ExperimentResult& experiment : run.experiments) {
    if (judged.contains(experiment.id)) continue;
    count_comparisons(experiment);
    for (const std::string& device : begun[experiment.id]) device_of(experiment.judgement, device);
    take_no_verdict(experiment);
  }
  if (const nlohmann::json* summary = file.summary()) {
    take_summary(*summary, run);
    return run;
  }
  run.ended = false;
  std::set<std::string> seen;
  for (const ExperimentResult& experiment : run.experiments) seen.insert(experiment.id);
  for (const auto& [id, sha256] : run.info.specs) {
    if (!seen.contains(id)) run.not_started.push_back(id);
  }
  run.summary = summarize(run, {});
  return run;
}

}  // namespace octlm::verify
