// The run as a person at a terminal sees it: progress while it works, then the table of verdicts.
#pragma once

#include <chrono>
#include <cstdint>
#include <ostream>
#include <string>

#include "verify/report/report.h"

namespace octlm::verify {

// The table that ends a run: experiment, kind, verdict by device, comparisons made of planned, the
// worst metric against its bound, seconds of both sides; what was not run and why; where the
// results are.
std::string console_table(const RunResult& run);

class ConsoleReport : public Report {
 public:
  // Progress goes to `progress` (a bar that redraws itself when `terminal`, plain lines otherwise),
  // the table to `table`. Both must outlive this.
  ConsoleReport(std::ostream& progress, std::ostream& table, bool terminal);

  void run_started(const RunInfo& info) override;
  void device_started(const ExperimentResult& experiment, const std::string& device) override;
  void comparison_started(const ExperimentResult& experiment, const ComparisonKey& key) override;
  void comparison_finished(const ExperimentResult& experiment,
                           const ComparisonResult& result) override;
  void experiment_finished(const ExperimentResult& experiment) override;
  void run_finished(const RunResult& run) override;

 private:
  void draw(const std::string& doing);
  void clear();

  std::ostream& progress_;
  std::ostream& table_;
  bool terminal_;
  std::int64_t planned_ = 0;
  std::int64_t done_ = 0;
};

}  // namespace octlm::verify
