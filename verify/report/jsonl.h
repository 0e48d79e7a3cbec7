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

  void run_started(const RunInfo& info) override;
  void device_ready(const ExperimentResult& experiment, const std::string& device,
                    const nlohmann::json& identity) override;
  void comparison_finished(const ExperimentResult& experiment,
                           const ComparisonResult& result) override;
  void experiment_finished(const ExperimentResult& experiment) override;
  void run_finished(const RunResult& run) override;

 private:
  formats::AppendFile file_;
};

// What the file has of a comparison: the further lines that it gave rise to, then its own.
std::string comparison_lines(const ExperimentResult& experiment, const ComparisonResult& result);

// One line of the file: `type` first, then the fields; non-finite numbers as strings, bytes that
// are not UTF-8 replaced.
std::string json_line(const char* type, const nlohmann::json& fields);

}  // namespace octlm::verify
