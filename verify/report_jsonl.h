// results.jsonl, the truth: one JSON object a line, appended and flushed as things happen, so that
// a killed run leaves a readable file. The lines and their fields: docs/results.md.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "verify/report.h"

namespace octlm::verify {

class JsonlReport : public Report {
 public:
  // Creates the file. Throws std::runtime_error with path and reason, then and on every failed
  // write.
  explicit JsonlReport(std::filesystem::path file);
  ~JsonlReport() override;
  JsonlReport(const JsonlReport&) = delete;
  JsonlReport& operator=(const JsonlReport&) = delete;

  void run_started(const RunInfo& info, std::int64_t comparisons) override;
  void comparison_finished(const ExperimentResult& experiment,
                           const ComparisonResult& result) override;
  void experiment_finished(const ExperimentResult& experiment) override;
  void run_finished(const RunResult& run) override;

 private:
  void append(const char* type, const nlohmann::json& fields);

  std::filesystem::path file_;
  int descriptor_ = -1;
};

// The fields of each line, less `type`.
nlohmann::json run_line(const RunInfo& info);
nlohmann::json comparison_line(const ExperimentResult& experiment, const ComparisonResult& result);
nlohmann::json experiment_line(const ExperimentResult& experiment);
nlohmann::json summary_line(const Summary& summary);

}  // namespace octlm::verify
