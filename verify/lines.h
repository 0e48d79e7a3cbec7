// The lines of results.jsonl (docs/results.md): one description of each type's fields, in
// lines.cpp, from which a line is written and read back, so that the two cannot disagree. What is
// missing in a line that is read, or of another type than a run writes, is taken as absent.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "verify/result.h"

namespace octlm::verify {

// `started`: an experiment's engines are ready on a device.
struct Started {
  std::string experiment, device, spec_sha256;
  std::string intent;       // of its line in the journal; "" without one
  nlohmann::json identity;  // Experiment::identity
};

// The fields of each line, less `type`. A comparison that did not take place is no `comparison`
// line, so that nobody counts it as one: its type is `not_compared`.
nlohmann::json run_line(const RunInfo& info);
nlohmann::json started_line(const Started& started);
// Which comparison a line is of: {experiment, case, path, device, dtype}.
nlohmann::json key_json(const ExperimentResult& experiment, const ComparisonKey& key);
nlohmann::json comparison_line(const ExperimentResult& experiment, const ComparisonResult& result);
nlohmann::json experiment_line(const ExperimentResult& experiment);
nlohmann::json summary_line(const RunResult& run);

// And back. The folder and the program's words are in no line.
RunInfo run_from(const nlohmann::json& line);
Started started_from(const nlohmann::json& line);
ComparisonResult comparison_from(const nlohmann::json& line);  // or `not_compared`
// All but the comparisons, which have lines of their own.
void take_experiment(const nlohmann::json& line, ExperimentResult& experiment);
// What the last line says of the run.
void take_summary(const nlohmann::json& line, RunResult& run);

// The device's place in the judgement, made when there is none.
DeviceResult& device_of(Judgement& judgement, const std::string& name);

}  // namespace octlm::verify
