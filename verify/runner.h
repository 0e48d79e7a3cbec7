// Runs experiments and writes the reports. The boundary: what an experiment throws becomes a
// result.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "verify/kind.h"
#include "verify/ledger/project.h"
#include "verify/report/report.h"
#include "verify/result.h"
#include "verify/spec.h"

namespace octlm::verify {

// Exit codes, the first that applies. A run that was interrupted ends with 128 + the signal (130,
// 143) whatever it had found until then: it is incomplete, and never 0.
enum ExitCode : int {
  kExitPass = 0,          // at least one pass; the rest pass or not_run
  kExitFail = 1,          // a criterion failed
  kExitRefused = 2,       // refused before anything was run: arguments, spec, empty selection
  kExitUnregistered = 3,  // the ledger is invalid, or something selected is unregistered or
                          // exploratory; only where there is a ledger
  kExitError = 4,         // something broke, a required thing is absent, or nothing was compared
};

// Refused before anything was run or written: exit code 2.
class Refused : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

struct RunItem {
  Spec spec;
  std::unique_ptr<Experiment> experiment;
  Role role = Role::kParity;
};
// The spec, as its kind reads it. Throws formats::FormatError.
RunItem read_item(Spec spec, std::span<const Kind> kinds);
// The same from its file, with a plan that can be judged. Throws formats::FormatError with all that
// is wrong in the envelope, in the kind's part and in the plan, a finding a line.
RunItem read_item(const std::filesystem::path& file, std::span<const Kind> kinds);
RunItem read_item(std::string_view text, const std::filesystem::path& file,
                  std::span<const Kind> kinds);

struct RunOptions {
  // The run's folder is reports/<UTC timestamp>-<n>, and reports/latest links to it ...
  std::filesystem::path reports = "reports";
  // ... unless given here; it must not hold the results of another run, and nothing links to it.
  std::optional<std::filesystem::path> out = {};
  std::vector<std::string> devices = {};  // only these; empty = every device of the specs
  // Needs and devices of the program; absent = exit code 4.
  std::vector<std::string> require = {};
  bool fail_fast = false;      // end after the first experiment that fails or breaks
  const Host* host = nullptr;  // for Experiment::open; absent: one that has nothing
  // started, folder, specs, ledger_head, resumed and planned are filled by run().
  RunInfo info = {};
  // Whose ledger labels the results and whose journal records the attempts. Without one everything
  // is unregistered, and counts.
  std::optional<Project> project = {};
  // The folder of an interrupted run to go on with, in place of a new one.
  std::optional<std::filesystem::path> resume = {};
  std::vector<Report*> more_reports = {};  // beside those of the folder: the console
};

// Runs them in order. Throws Refused before anything is written (nothing selected, an id twice, a
// plan that cannot be judged, an unknown word; std::invalid_argument: a run that cannot be
// resumed), LedgerInvalid, and std::runtime_error when the reports cannot be written; everything
// else is in the result, whose summary.exit_code is the program's. While it runs, SIGINT and
// SIGTERM stop it after the comparison at hand, with the reports written (one that breaks after the
// signal was interrupted by it); a second signal kills.
// REQUIRES that nothing else takes these signals meanwhile (an embedded Python must be initialised
// without its handlers).
RunResult run(const RunOptions& options, std::vector<RunItem>& items);

// Whether a signal has asked the run at work to stop: for what it waits for. Async-signal-safe.
bool run_interrupted();

// What summary.exit_code follows from, for tests and for reports read back.
Summary summarize(const RunResult& run, const std::vector<std::string>& require);

}  // namespace octlm::verify
