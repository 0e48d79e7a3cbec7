// The run as a person at a terminal sees it: progress while it works, then the table of verdicts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <ostream>
#include <set>
#include <string>

#include "verify/report/report.h"

namespace octlm::verify {

// The table that ends a run, at most kTableColumns wide: a row for each experiment and device with
// its model, the engine under test, the verdict, comparisons made of planned, and the worst metric
// against its bound. Then what failed, what was not run and why. The last line is the path of
// report.html and nothing else.
std::string console_table(const RunResult& run);
inline constexpr std::size_t kTableColumns = 100;

struct ConsoleOptions {
  bool redraw = false;  // one line that is drawn again and again, where the progress goes
  std::function<std::size_t()> columns = [] { return std::size_t{80}; };  // its width now
  std::function<double()> now_s = {};  // a clock that never goes back; absent: the machine's
};

// Progress: a line for each experiment and device when it has its verdict, one for each comparison
// that fails or breaks, at once, and with `redraw` the live line below them: experiment, n of m,
// how much of its bound the worst comparison has used so far, and the time left.
class ConsoleReport : public Report {
 public:
  // Progress goes to `progress`, the table to `table`. Both must outlive this.
  ConsoleReport(std::ostream& progress, std::ostream& table, ConsoleOptions options);

  void run_started(const RunInfo& info) override;
  void device_started(const ExperimentResult& experiment, const std::string& device) override;
  void comparison_started(const ExperimentResult& experiment, const ComparisonKey& key) override;
  void comparison_judged(const ExperimentResult& experiment, const ComparisonResult& result,
                         const Judgement& alone) override;
  void experiment_finished(const ExperimentResult& experiment) override;
  void run_finished(const RunResult& run) override;

 private:
  void say(const std::string& line);
  void draw(const ExperimentResult& experiment, const std::string& device,
            const std::string& doing);
  void clear();
  std::string time_left() const;

  std::ostream& progress_;
  std::ostream& table_;
  ConsoleOptions options_;
  std::int64_t planned_ = 0;
  std::int64_t done_ = 0;
  std::int64_t kept_ = 0;  // of which an interrupted run had finished
  double started_s_ = 0;
  std::size_t drawn_ = 0;                // columns of the live line that stands there
  std::map<std::string, double> worst_;  // of the experiment at hand, by device
  std::set<std::string> broken_;         // and what it said of what broke
  bool foreign_ = false;                 // the subject is not of the program's own code
};

}  // namespace octlm::verify
