#include "verify/report/console.h"

#include <algorithm>
#include <vector>

#include "formats/utf8.h"
#include "verify/report/escape.h"
#include "verify/report/text.h"

namespace octlm::verify {
namespace {

using Row = std::vector<std::string>;

std::string pad(const std::string& text, std::size_t width) {
  const std::size_t has = display_width(text);
  return text + std::string(width > has ? width - has : 0, ' ');
}

std::string aligned(const std::vector<Row>& rows) {
  std::vector<std::size_t> widths;
  for (const Row& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], display_width(row[i]));
    }
  }
  std::string text;
  for (const Row& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) line += (i ? "  " : "") + pad(row[i], widths[i]);
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string seconds_text(std::optional<double> seconds) {
  return seconds ? number_text(*seconds) : "-";
}

Row experiment_row(const ExperimentResult& experiment) {
  const CriterionResult* decisive = decisive_criterion(experiment);
  const SideSeconds seconds = side_seconds(experiment);
  return {for_terminal(experiment.id),
          for_terminal(experiment.kind),
          for_terminal(verdict_text(experiment)),
          std::to_string(experiment.compared()) + "/" + std::to_string(experiment.planned),
          decisive ? for_terminal(decisive->metric + " " + criterion_text(*decisive)) : "-",
          decisive ? used_text(*decisive) : "-",
          seconds_text(seconds.subject),
          seconds_text(seconds.reference)};
}

std::string red_list(const RunResult& run) {
  std::string text;
  for (const ExperimentResult& experiment : run.experiments) {
    const Verdict verdict = experiment.judgement.verdict;
    if (verdict != Verdict::kFail && verdict != Verdict::kError) continue;
    std::string reason = for_terminal_lines(experiment.judgement.reason);
    // Deeper than the list's own lines, for which nothing in a reason may pass.
    for (std::size_t at = 0; (at = reason.find("\n  ", at)) != std::string::npos; at += 3) {
      reason.insert(at + 1, "    ");
    }
    text += "  " + for_terminal(experiment.id) + ": " + reason + "\n";
  }
  return text.empty() ? "" : "\nFailed:\n" + text;
}

std::string not_checked_list(const RunResult& run) {
  const std::vector<NotChecked> list = not_checked(run);
  if (list.empty()) return "";
  std::string text = "\nNot checked:\n";
  for (const NotChecked& one : list) {
    text += "  " + for_terminal(one.experiment) + " " + for_terminal(one.what) + ": " +
            for_terminal(one.reason) + "\n";
  }
  return text;
}

}  // namespace

std::string console_table(const RunResult& run) {
  std::vector<Row> rows = {{"experiment", "kind", "verdict", "compared", "worst against its bound",
                            "used", "subject s", "reference s"}};
  for (const ExperimentResult& experiment : run.experiments) {
    rows.push_back(experiment_row(experiment));
  }
  return aligned(rows) + red_list(run) + not_checked_list(run) + "\n" + headline(run) + " " +
         for_terminal(run.summary.why) + "\nresults: " + for_terminal(run.info.folder.string()) +
         "\n";
}

ConsoleReport::ConsoleReport(std::ostream& progress, std::ostream& table, bool terminal)
    : progress_(progress), table_(table), terminal_(terminal) {}

void ConsoleReport::run_started(const RunInfo& info) { planned_ = info.planned; }

void ConsoleReport::clear() {
  if (terminal_) progress_ << "\r\x1b[K";
}

void ConsoleReport::draw(const std::string& doing) {
  if (!terminal_) return;
  constexpr std::int64_t kWidth = 24;
  const std::int64_t filled = planned_ > 0 ? kWidth * done_ / planned_ : 0;
  std::string line = "[" + std::string(static_cast<std::size_t>(filled), '#') +
                     std::string(static_cast<std::size_t>(kWidth - filled), '.') + "] " +
                     std::to_string(done_) + "/" + std::to_string(planned_) + "  " + doing;
  // One line of a narrow terminal; cut between code points.
  while (display_width(line) > 79 || formats::find_invalid_utf8(line) != std::string::npos)
    line.pop_back();
  clear();
  progress_ << line << std::flush;
}

void ConsoleReport::device_started(const ExperimentResult& experiment, const std::string& device) {
  const std::string text = for_terminal(experiment.id + " " + device + ": making ready");
  draw(text);
  if (!terminal_) progress_ << text << std::endl;
}

void ConsoleReport::comparison_started(const ExperimentResult& experiment,
                                       const ComparisonKey& key) {
  draw(for_terminal(experiment.id + " " + key_text(key)));
}

void ConsoleReport::comparison_finished(const ExperimentResult& experiment,
                                        const ComparisonResult& result) {
  ++done_;
  if (terminal_) return;
  std::string outcome = "measured";
  if (const NotRun* not_run = result.not_run()) outcome = "not run: " + not_run->reason;
  if (const Broken* broken = result.broken()) outcome = "error: " + broken->what;
  progress_ << "[" << done_ << "/" << planned_ << "] "
            << for_terminal(experiment.id + " " + key_text(result.key) + ": ")
            << for_terminal_lines(outcome) << std::endl;
}

void ConsoleReport::experiment_finished(const ExperimentResult& experiment) {
  clear();
  progress_ << for_terminal(experiment.id) << " " << for_terminal(verdict_text(experiment)) << "  "
            << for_terminal(experiment.title) << std::endl;
  for (const auto& [device, attempts] : experiment.trust.attempts) {
    if (attempts.engines.empty()) continue;
    progress_ << "  " << for_terminal(device + ": " + attempts.engines) << std::endl;
  }
}

void ConsoleReport::run_finished(const RunResult& run) {
  clear();
  progress_ << std::flush;
  table_ << "\n" << console_table(run) << std::flush;
}

}  // namespace octlm::verify
