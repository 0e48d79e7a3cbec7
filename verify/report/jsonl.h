// results.jsonl, the truth: one JSON object a line, appended and flushed as things happen, so that
// a killed run leaves a readable file. The lines and their fields: docs/results.md.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "formats/output_file.h"
#include "verify/report/report.h"

namespace octlm::verify {

class JsonlReport : public Report {
 public:
  // Creates the file, or goes on with that of a resumed run, whose `run` line and kept lines stand
  // there. Throws std::runtime_error with path and reason, then and on every failed write.
  explicit JsonlReport(std::filesystem::path file) : file_(std::move(file)) {}

  void run_started(const RunInfo& info, std::int64_t comparisons) override;
  void device_ready(const ExperimentResult& experiment, const std::string& device,
                    const nlohmann::json& identity) override;
  void comparison_finished(const ExperimentResult& experiment,
                           const ComparisonResult& result) override;
  void experiment_finished(const ExperimentResult& experiment) override;
  void run_finished(const RunResult& run) override;

 private:
  formats::AppendFile file_;
};

// One line of the file: `type` first, then the fields; non-finite numbers as strings, bytes that
// are not UTF-8 replaced.
std::string json_line(const char* type, const nlohmann::json& fields);

// The fields of each line, less `type`. A comparison that did not take place is no `comparison`
// line, so that nobody counts it as one: its type is `not_compared`.
nlohmann::json run_line(const RunInfo& info);
nlohmann::json comparison_line(const ExperimentResult& experiment, const ComparisonResult& result);
nlohmann::json experiment_line(const ExperimentResult& experiment);
nlohmann::json summary_line(const RunResult& run);

}  // namespace octlm::verify
