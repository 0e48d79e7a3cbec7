// Of a red run, in place of the rulers: first bad position, the call that computed it, the guilty
// part, hypothesis, one command. Only what the record shows is said; the rest is said to be
// unknown.
#include <algorithm>
#include <optional>

#include "verify/lenient_json.h"
#include "verify/report/html_sections.h"
#include "verify/report/markup.h"
#include "verify/report/text.h"

namespace octlm::verify::html {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kShown = 2;  // so that the trust line stays on the first screen

struct Breakage {
  const ComparisonResult* first = nullptr;  // of those that broke a bound, the earliest known place
  std::optional<std::int64_t> position;
  const CriterionResult* by = nullptr;
  std::int64_t broke = 0;
  bool whole_held = false, whole_broke = false, other_broke = false, not_finite = false;
};

// The first position whose error exceeds the bound that was broken, where the record tells; else
// the position of the largest error.
std::optional<std::int64_t> position_of(const ComparisonResult& comparison,
                                        const CriterionResult* by) {
  const Measurement* measured = comparison.measurement();
  if (!measured) return std::nullopt;
  const double* limit = by ? std::get_if<double>(&by->limit) : nullptr;
  const Json& rising = member(measured->record, "rising");
  if (limit && by->metric == "max_abs_error@1" && rising.is_array()) {
    for (const Json& rise : rising) {
      if (!rise.is_array() || rise.size() != 2) break;
      const auto error = number_of(rise[1]);
      if (error && *error > *limit) return integer_of(rise[0]);
    }
  }
  return integer_of(member(member(measured->record, "worst"), "position"));
}

bool is_not_finite(const ComparisonResult& comparison) {
  const auto& metrics = comparison.measurement()->metrics;
  const auto finite = metrics.find("finite@1");
  return finite != metrics.end() && finite->second == MetricValue(false);
}

Breakage breakage_of(const Program& program, const ExperimentResult& experiment) {
  Breakage found;
  for (const ComparisonResult& comparison : experiment.comparisons) {
    const Judged one = judged(experiment, comparison);
    const bool whole = comparison.key.path == program.whole_path;
    if (one.state == ComparisonState::kHeld) found.whole_held |= whole;
    if (one.state != ComparisonState::kBroke) continue;
    ++found.broke;
    (whole ? found.whole_broke : found.other_broke) = true;
    found.not_finite |= is_not_finite(comparison);
    const auto position = position_of(comparison, one.by);
    const bool earlier =
        !found.first || (position && (!found.position || *position < *found.position));
    if (!earlier) continue;
    found.first = &comparison;
    found.position = position;
    found.by = one.by;
  }
  return found;
}

// In the call that computed the position: several positions at once, or one after others.
std::string phase_of(const Phases& phases, const ComparisonResult& comparison,
                     std::optional<std::int64_t> position) {
  const auto& calls = member(member(comparison.measurement()->record, "calls"), "subject");
  if (!position || !calls.is_array()) return "unknown: the subject does not report its calls";
  for (const auto& call : calls) {
    if (!call.is_array() || call.size() != 2) continue;
    const auto first = integer_of(call[0]), count = integer_of(call[1]);
    if (!first || !count || *position < *first || *position - *first >= *count) continue;
    const std::string at =
        " (a call of " + std::to_string(*count) + " from position " + std::to_string(*first) + ")";
    if (*first == 0) return phases.first + at;
    return (*count == 1 ? phases.one : phases.later) + at;
  }
  return "unknown: no call computed this position";
}

std::string hypothesis(const Program& program, const Breakage& found) {
  if (found.not_finite) {
    return "a value is not finite: an overflow, a division by zero or memory that was never "
           "written (not tested)";
  }
  const bool divided = found.other_broke && found.whole_held && !found.whole_broke;
  if (divided && !program.divided_hypothesis.empty()) {
    return program.divided_hypothesis + " (not tested)";
  }
  return "none fits";
}

// Something that can be pasted, as markup: an id from a file is no shell command. "" when there is
// none.
std::string command(const RunResult& run, const std::string& id, const std::string& device) {
  constexpr const char* kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
  if (id.empty() || id.starts_with("-") || id.find_first_not_of(kPlain) != std::string::npos) {
    return "";
  }
  const Program& program = run.info.program;
  if (program.launcher.empty()) return "";
  const auto& models = member(run.info.request, "models");
  return "<code>" +
         for_markup(program.launcher + " run " + id +
                    (program.has_device(device) ? " --device " + device : "")) +
         "</code>" +
         (models.is_array() && !models.empty() ? " and the --model of the command below" : "");
}

// One step below the other.
std::string chain(const std::vector<std::pair<std::string, std::string>>& entries) {
  return "<div class=\"chain\">" + facts(entries) + "</div>";
}

std::string failed_panel(const RunResult& run, const ExperimentResult& experiment) {
  const Program& program = run.info.program;
  const Breakage found = breakage_of(program, experiment);
  std::vector<std::pair<std::string, std::string>> entries;
  std::string device;
  if (found.first == nullptr) {
    entries.push_back({"why", prose_markup(experiment.judgement.reason)});
  } else if (has_differences(*found.first)) {
    device = found.first->key.device;
    entries = {{"what", prose_markup(experiment.judgement.reason)},
               {"first differences", "in " + name_markup(key_text(found.first->key))}};
  } else {
    device = found.first->key.device;
    entries = {
        {"what", prose_markup(experiment.judgement.reason)},
        {"first bad position",
         (found.position ? "<b>" + std::to_string(*found.position) + "</b>" : "not recorded") +
             " in " + name_markup(key_text(found.first->key)) +
             (found.broke > 1 && !found.not_finite
                  ? " <span class=\"quiet\">(the earliest in " + std::to_string(found.broke) +
                        " comparisons)</span>"
                  : "")},
        {program.phases.title,
         prose_markup(phase_of(program.phases, *found.first, found.position))}};
    if (!program.part.empty()) entries.push_back({program.part, "not localised"});
    entries.push_back({"hypothesis", prose_markup(hypothesis(program, found))});
  }
  const std::string repeat = command(run, experiment.id, device);
  if (!repeat.empty()) entries.push_back({"command", repeat});
  std::string text = "<article class=\"panel fail\"><h3>" + badge("fail", "✕", "fail") + " " +
                     name_markup(experiment.id) + " <span class=\"quiet\">" +
                     name_markup(experiment.title) + "</span></h3>" + chain(entries);
  if (found.first != nullptr) {
    text += place_facts(program, *found.first) + differences_markup(program, *found.first);
    const std::string lists = top5_tables(program, *found.first);
    if (!lists.empty())
      text += "<details><summary>top 5 of both sides there</summary>" + lists + "</details>";
  }
  return text + "</article>";
}

std::string error_panel(const RunResult& run, const ExperimentResult& experiment) {
  std::vector<std::pair<std::string, std::string>> entries = {
      {"what broke", prose_markup(experiment.judgement.reason)}};
  const std::string repeat = command(run, experiment.id, "");
  if (!repeat.empty()) entries.push_back({"command", repeat});
  return "<article class=\"panel error\"><h3>" + badge("error", "!", "error") + " " +
         name_markup(experiment.id) + " <span class=\"quiet\">" + name_markup(experiment.title) +
         "</span></h3>" + chain(entries) + "</article>";
}

std::string unended_panel(const RunResult& run) {
  const std::string& launcher = run.info.program.launcher;
  const std::string how = launcher.empty() ? ""
                                           : "; go on with it by <code>" +
                                                 for_markup(launcher + " run --resume") +
                                                 "</code> and its folder";
  return "<article class=\"panel error\"><h3>" + badge("error", "!", "did not end") + "</h3><p>" +
         prose_markup(run.summary.why) + " What it had finished stands below" + how +
         ".</p></article>";
}

}  // namespace

bool is_red(const RunResult& run) {
  return !run.ended || run.interrupted_by != 0 || run.summary.fail > 0 || run.summary.error > 0;
}

std::string failure_section(const RunResult& run) {
  std::string shown, more;
  std::size_t count = 0;
  const auto add = [&](const std::string& panel) { (count++ < kShown ? shown : more) += panel; };
  if (!run.ended || run.interrupted_by != 0) add(unended_panel(run));
  for (const Verdict verdict : {Verdict::kFail, Verdict::kError}) {
    for (const ExperimentResult& experiment : run.experiments) {
      if (experiment.judgement.verdict != verdict) continue;
      add(verdict == Verdict::kFail ? failed_panel(run, experiment) : error_panel(run, experiment));
    }
  }
  if (!more.empty()) {
    shown += "<details><summary>" + std::to_string(count - kShown) + " more</summary>" + more +
             "</details>";
  }
  return section("failures", "Where it went wrong", shown);
}

}  // namespace octlm::verify::html
