#include "verify/report/console.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <vector>

#include "formats/shell_words.h"
#include "verify/metrics/metric_value.h"
#include "verify/report/display_width.h"
#include "verify/report/escape.h"
#include "verify/report/facts.h"
#include "verify/report/text.h"

namespace octlm::verify {
namespace {

// Numbers for a glance: three digits.

std::string three_digits(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", value);
  return text;
}

std::string all_digits(double value) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

struct Texts {
  std::string value, limit;
};

// A value that rounds to its bound is written out: what failed does not read as if it held.
Texts texts_of(const CriterionResult& criterion) {
  const double* value = std::get_if<double>(&*criterion.value);
  const double* limit = std::get_if<double>(&criterion.limit);
  const std::string limit_text = limit != nullptr                  ? three_digits(*limit)
                                 : std::get<bool>(criterion.limit) ? "true"
                                                                   : "false";
  if (value == nullptr) return {metric_text(*criterion.value), limit_text};
  if (limit != nullptr && *value != *limit && three_digits(*value) == limit_text)
    return {all_digits(*value), all_digits(*limit)};
  return {three_digits(*value), limit_text};
}

// "max_abs_error@1 1.05e-04 <= 0.001", "max_abs_error@1 0.002 not <= 0.001".
std::string short_text(const CriterionResult& criterion) {
  if (!criterion.value || criterion.implied)
    return criterion.metric + " " + criterion_text(criterion);
  const auto [value, limit] = texts_of(criterion);
  return criterion.metric + " " + value + (criterion.holds == false ? " not" : "") +
         bound_sign(criterion.bound) + limit;
}

// The criterion that speaks for a device: the first that does not hold, else the one of which most
// was used, an upper bound before a lower one. nullptr when none judged anything.
const CriterionResult* decisive_on(const std::vector<CriterionResult>& criteria,
                                   const std::string& device) {
  const CriterionResult* best = nullptr;
  const auto rank = [](const CriterionResult& one) {
    return std::pair(one.bound == Criterion::Bound::kAtMost, one.used.value_or(-1));
  };
  for (const CriterionResult& one : criteria) {
    if (one.device != device || !one.holds) continue;
    if (!*one.holds) return &one;
    if (best == nullptr || rank(one) > rank(*best)) best = &one;
  }
  return best;
}

// Rows in columns.

using Row = std::vector<std::string>;

std::string pad(const std::string& text, std::size_t width) {
  const std::size_t has = display_width(text);
  return text + std::string(width > has ? width - has : 0, ' ');
}

constexpr std::size_t kGap = 2;

std::vector<std::size_t> widths_of(const std::vector<Row>& rows) {
  std::vector<std::size_t> widths(rows.front().size());
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], display_width(row[i]));
  }
  return widths;
}

// Takes from the widest column until the row fits, but from the numbers only when the names have
// nothing left to give.
void fit(std::vector<std::size_t>& widths, std::size_t columns) {
  constexpr std::size_t kLeast = 10;
  constexpr std::ptrdiff_t kNames = 3;  // id, model, engine
  const auto total = [&] {
    std::size_t sum = kGap * (widths.size() - 1);
    for (const std::size_t width : widths) sum += width;
    return sum;
  };
  while (total() > columns) {
    auto widest = std::max_element(widths.begin(), widths.begin() + kNames);
    if (*widest <= kLeast) widest = std::max_element(widths.begin(), widths.end());
    if (*widest <= kLeast) return;
    --*widest;
  }
}

std::string aligned(const std::vector<Row>& rows, std::size_t columns) {
  std::vector<std::size_t> widths = widths_of(rows);
  fit(widths, columns);
  std::string text;
  for (const Row& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      line +=
          (i ? std::string(kGap, ' ') : "") + pad(shortened_to_width(row[i], widths[i]), widths[i]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string engine_of(const ExperimentResult& experiment, const std::string& device) {
  for (const ComparisonResult& comparison : experiment.comparisons) {
    const Side side = side_of(comparison, "subject");
    if (comparison.key.device == device && side.known()) return side.engine;
  }
  return "-";
}

Row device_row(const ExperimentResult& experiment, const DeviceResult& device) {
  const CriterionResult* decisive = decisive_on(experiment.judgement.criteria, device.device);
  return {for_terminal(experiment.id),
          experiment.model.empty() ? "-" : for_terminal(experiment.model),
          for_terminal(engine_of(experiment, device.device)),
          for_terminal(device.device),
          verdict_words(device.verdict),
          std::to_string(device.comparisons) + "/" + std::to_string(device.planned),
          decisive ? for_terminal(short_text(*decisive)) : "-",
          decisive ? used_text(*decisive) : "-"};
}

std::vector<Row> rows_of(const RunResult& run) {
  const std::string model = run.info.program.model;
  std::vector<Row> rows = {
      {"id", model, "engine", "device", "verdict", "made", "worst against its bound", "used"}};
  for (const ExperimentResult& experiment : run.experiments) {
    for (const DeviceResult& device : experiment.judgement.devices)
      rows.push_back(device_row(experiment, device));
    if (experiment.judgement.devices.empty()) {
      rows.push_back({for_terminal(experiment.id), for_terminal(experiment.model), "-", "-",
                      verdict_words(experiment.judgement.verdict), "0/0", "-", "-"});
    }
  }
  return rows;
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
    text += "  " + for_terminal(one.who()) + " " + for_terminal(one.what) + ": " +
            for_terminal(one.reason) + "\n";
  }
  return text;
}

std::string seconds_line(const RunResult& run) {
  SideSeconds total;
  const auto add = [](std::optional<double>& sum, const std::optional<double>& one) {
    if (one) sum = sum.value_or(0) + *one;
  };
  for (const ExperimentResult& experiment : run.experiments) {
    const SideSeconds seconds = side_seconds(experiment);
    add(total.subject, seconds.subject);
    add(total.reference, seconds.reference);
  }
  std::string text;
  if (total.subject) text += "subject " + three_digits(*total.subject) + " s";
  if (total.reference)
    text += (text.empty() ? "" : ", ") + ("reference " + three_digits(*total.reference)) + " s";
  return text.empty() ? "" : text + "\n";
}

// "pass, 20 of 20 compared, max_abs_error@1 1.05e-04 <= 0.001, 10 % of it used".
std::string device_line(const ExperimentResult& experiment, const DeviceResult& device) {
  const std::string begin =
      for_terminal(experiment.id + " " + device.device + ": " + verdict_words(device.verdict));
  if (device.verdict == Verdict::kNotRun || device.verdict == Verdict::kError)
    return begin + ": " + for_terminal_lines(device.reason);
  const CriterionResult* decisive = decisive_on(experiment.judgement.criteria, device.device);
  std::string text = begin + ", " + std::to_string(device.comparisons) + " of " +
                     std::to_string(device.planned) + " compared";
  if (decisive == nullptr) return text;
  text += ", " + for_terminal(short_text(*decisive));
  if (*decisive->holds && decisive->used) text += ", " + used_text(*decisive) + " of it used";
  if (device.verdict == Verdict::kFail && *decisive->holds)
    text += ": " + for_terminal_lines(device.reason);
  return text;
}

// "about 2 min left"
std::string duration_text(double seconds) {
  const auto whole = [](double value, const char* unit) {
    return std::to_string(std::llround(value)) + unit;
  };
  if (seconds < 90) return whole(seconds, " s");
  if (seconds < 5400) return whole(seconds / 60, " min");
  return three_digits(seconds / 3600) + " h";
}

double machine_clock() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

std::string console_table(const RunResult& run) {
  return aligned(rows_of(run), kTableColumns) + red_list(run) + not_checked_list(run) + "\n" +
         seconds_line(run) + headline(run) + " " + for_terminal(run.summary.why) + "\n" +
         for_terminal((run.info.folder / "report.html").string()) + "\n";
}

ConsoleReport::ConsoleReport(std::ostream& progress, std::ostream& table, ConsoleOptions options)
    : progress_(progress), table_(table), options_(std::move(options)) {
  if (!options_.now_s) options_.now_s = machine_clock;
}

void ConsoleReport::run_started(const RunInfo& info) {
  planned_ = info.planned;
  foreign_ = !info.subject_sha256.empty();
  started_s_ = options_.now_s();
}

// A window that became narrower since has broken the line into several.
void ConsoleReport::clear() {
  if (drawn_ == 0) return;
  const std::size_t columns = std::max<std::size_t>(options_.columns(), 1);
  const std::size_t above = (drawn_ - 1) / columns;
  if (above > 0) progress_ << "\x1b[" << above << "A";
  progress_ << "\r\x1b[J";
  drawn_ = 0;
}

void ConsoleReport::say(const std::string& line) {
  clear();
  progress_ << line << std::endl;
}

std::string ConsoleReport::time_left() const {
  const std::int64_t made = done_ - kept_;
  if (made == 0) return "";
  const double each = (options_.now_s() - started_s_) / static_cast<double>(made);
  return "  about " + duration_text(each * static_cast<double>(planned_ - done_)) + " left";
}

void ConsoleReport::draw(const ExperimentResult& experiment, const std::string& device,
                         const std::string& doing) {
  if (!options_.redraw) return;
  std::string line = for_terminal(experiment.id) + " " + for_terminal(device) + "  " +
                     std::to_string(done_ + 1) + " of " + std::to_string(planned_);
  const auto worst = worst_.find(device);
  if (worst != worst_.end()) line += "  worst: " + share_text(worst->second) + " of its bound";
  line += time_left() + "  " + for_terminal(doing);
  // The last column stays free: some terminals go to the next line when it is filled.
  const std::size_t columns = options_.columns();
  line = cut_to_width(line, columns > 1 ? columns - 1 : 1);
  clear();
  progress_ << line << std::flush;
  drawn_ = display_width(line);
}

void ConsoleReport::device_started(const ExperimentResult& experiment, const std::string& device) {
  draw(experiment, device, "making ready");
}

void ConsoleReport::comparison_started(const ExperimentResult& experiment,
                                       const ComparisonKey& key) {
  draw(experiment, key.device, key_text(key));
}

void ConsoleReport::comparison_judged(const ExperimentResult& experiment,
                                      const ComparisonResult& result, const Judgement& alone) {
  ++done_;
  kept_ += result.kept ? 1 : 0;
  const std::string& device = result.key.device;
  for (const CriterionResult& criterion : alone.criteria) {
    if (criterion.bound == Criterion::Bound::kAtMost && criterion.used) {
      const auto worst = worst_.try_emplace(device, *criterion.used).first;
      worst->second = std::max(worst->second, *criterion.used);
    }
    if (result.kept || criterion.holds != false) continue;
    say(for_terminal(experiment.id + " fails: " + short_text(criterion) + " in " +
                     key_text(result.key)));
  }
  if (const Broken* broken = result.broken(); broken != nullptr && !result.kept) {
    // Said once where nothing could be opened, and not for each comparison.
    if (broken_.insert(device + "\n" + broken->what).second)
      say(for_terminal(experiment.id + " breaks in " + key_text(result.key) + ": ") +
          for_terminal_lines(broken->what));
  }
}

void ConsoleReport::experiment_finished(const ExperimentResult& experiment) {
  for (const DeviceResult& device : experiment.judgement.devices)
    say(device_line(experiment, device));
  worst_.clear();
  broken_.clear();
  for (const auto& [device, attempts] : experiment.trust.attempts) {
    if (foreign_ && !attempts.engines.empty())
      say(for_terminal("  " + device + ": " + attempts.engines));
  }
}

void ConsoleReport::run_finished(const RunResult& run) {
  clear();
  const Program& program = run.info.program;
  if (run.interrupted_by != 0 && !program.launcher.empty()) {
    progress_ << "interrupted; to go on: " << program.launcher << " run --resume "
              << formats::shell_quoted(run.info.folder.string()) << std::endl;
  }
  progress_ << std::flush;
  table_ << "\n" << console_table(run) << std::flush;
}

}  // namespace octlm::verify
