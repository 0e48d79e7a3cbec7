#include "verify/report/jsonl.h"

#include "verify/lines.h"
#include "verify/metrics/metric_value.h"

namespace octlm::verify {
std::string json_line(const char* type, const nlohmann::json& fields) {
  constexpr auto kReplace = nlohmann::json::error_handler_t::replace;
  std::string line = "{\"type\":" + nlohmann::json(type).dump();
  for (const auto& [name, value] : fields.items()) {
    line += "," + nlohmann::json(name).dump(-1, ' ', false, kReplace) + ":" +
            without_non_finite(value).dump(-1, ' ', false, kReplace);
  }
  return line + "}\n";
}

std::string comparison_lines(const ExperimentResult& experiment, const ComparisonResult& result) {
  std::string lines;
  if (const Measurement* measured = result.measurement()) {
    for (const FurtherLine& line : measured->lines) {
      nlohmann::json fields = key_json(experiment, result.key);
      for (const auto& [name, value] : line.fields.items()) {
        if (!fields.contains(name)) fields[name] = value;
      }
      lines += json_line(line.type.c_str(), fields);
    }
  }
  const char* type = result.measurement() ? "comparison" : "not_compared";
  return lines + json_line(type, comparison_line(experiment, result));
}

void JsonlReport::run_started(const RunInfo& info) {
  if (info.resumed.empty()) file_.append(json_line("run", run_line(info)));
}

void JsonlReport::device_ready(const ExperimentResult& experiment, const std::string& device,
                               const nlohmann::json& identity) {
  const auto attempts = experiment.trust.attempts.find(device);
  const bool journaled = attempts != experiment.trust.attempts.end();
  file_.append(
      json_line("started", started_line({experiment.id, device, experiment.spec_sha256,
                                         journaled ? attempts->second.intent : "", identity})));
}

void JsonlReport::comparison_finished(const ExperimentResult& experiment,
                                      const ComparisonResult& result) {
  // At once: where the comparison stands, so do its further lines.
  if (!result.kept) file_.append(comparison_lines(experiment, result));
}

void JsonlReport::experiment_finished(const ExperimentResult& experiment) {
  file_.append(json_line("experiment", experiment_line(experiment)));
}

void JsonlReport::run_finished(const RunResult& run) {
  file_.append(json_line("summary", summary_line(run)));
}

}  // namespace octlm::verify
