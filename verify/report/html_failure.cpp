// Of a red run, in place of the rulers: first bad position, the call that computed it, what the
// error looks like over the positions, the guilty part, hypothesis, one command. Each line names
// the comparison that it speaks of. Only what the record shows is said; the rest is said to be
// unknown, and a hypothesis that nothing has tried is "not tried".
#include <cmath>
#include <optional>

#include "verify/lenient_json.h"
#include "verify/provenance.h"
#include "verify/report/error_shape.h"
#include "verify/report/html_sections.h"
#include "verify/report/markup.h"
#include "verify/report/repeat_command.h"
#include "verify/report/text.h"

namespace octlm::verify::html {
namespace {

constexpr std::size_t kShown = 2;  // so that the trust line stays on the first screen

struct Breakage {
  const ComparisonResult* first = nullptr;  // of those that broke a bound, the earliest known place
  std::optional<std::int64_t> position;
  const CriterionResult* by = nullptr;
  std::int64_t broke = 0;
  bool whole_held = false, whole_broke = false, other_broke = false, not_finite = false;
};

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
    const auto position = first_bad_position(comparison, one.by);
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
           "written (not tried)";
  }
  const bool divided = found.other_broke && found.whole_held && !found.whole_broke;
  if (divided && !program.divided_hypothesis.empty()) {
    return program.divided_hypothesis + " (not tried)";
  }
  return "none fits";
}

// "only after the split at position 6; growing with position": "" when the record does not say.
std::string shape_text(const Program& program, const Breakage& found) {
  const double* bound = found.by ? std::get_if<double>(&found.by->limit) : nullptr;
  if (bound == nullptr || found.by->metric != "max_abs_error@1") {
    if (found.first->measurement()->errors.not_finite == 0) return "";
  }
  std::string text;
  const double held_against = found.not_finite || !bound ? HUGE_VAL : *bound;
  for (const std::string& one : error_shape(program, *found.first, held_against)) {
    text += (text.empty() ? "" : "; ") + one;
  }
  return text;
}

// One step below the other.
Markup chain(const std::vector<std::pair<std::string, Markup>>& entries) {
  return "<div class=\"chain\">" + facts(entries) + "</div>";
}

Markup in_comparison(const ComparisonResult& comparison) {
  return " <span class=\"quiet\">in <bdi>" + name_markup(key_text(comparison.key)) +
         "</bdi></span>";
}

// Of one comparison, and each line says of which.
std::vector<std::pair<std::string, Markup>> traced(const Program& program, const Breakage& found) {
  const Markup where = in_comparison(*found.first);
  Markup position =
      found.position ? "<b>" + number_markup(*found.position) + "</b>" : Markup("not recorded");
  position += where;
  if (found.broke > 1 && !found.not_finite) {
    position += " <span class=\"quiet\">(the earliest in " + number_markup(found.broke) +
                " comparisons that break a bound)</span>";
  }
  std::vector<std::pair<std::string, Markup>> entries = {
      {"first bad position", position},
      {program.phases.title,
       prose_markup(phase_of(program.phases, *found.first, found.position)) + where}};
  const std::string shape = shape_text(program, found);
  entries.push_back({"where it is wrong",
                     (shape.empty() ? Markup("not recorded") : prose_markup(shape)) + where});
  if (!program.part.empty()) entries.push_back({program.part, "not localised" + where});
  entries.push_back({"hypothesis", prose_markup(hypothesis(program, found)) + where});
  return entries;
}

Markup panel(const Markup& style, const Markup& verdict, const ExperimentResult& experiment,
             const Markup& content) {
  return "<article class=\"panel " + style + "\"><h3>" + verdict + " " +
         experiment_link(experiment.id) + " <span class=\"quiet\">" +
         name_markup(experiment.title) + "</span></h3>" + content + "</article>";
}

void add_command(std::vector<std::pair<std::string, Markup>>& entries, const RunResult& run,
                 const ExperimentResult& experiment, const std::string& device) {
  const std::string command = repeat_command(run, experiment, device);
  if (!command.empty()) entries.push_back({"command", "<code>" + for_markup(command) + "</code>"});
}

Markup failed_panel(const RunResult& run, const ExperimentResult& experiment) {
  const Program& program = run.info.program;
  const Breakage found = breakage_of(program, experiment);
  std::vector<std::pair<std::string, Markup>> entries = {
      {found.first ? "what" : "why", prose_markup(experiment.judgement.reason)}};
  if (found.first != nullptr) {
    if (has_differences(*found.first)) {
      entries.push_back({"first differences", in_comparison(*found.first)});
    } else {
      for (auto& entry : traced(program, found)) entries.push_back(std::move(entry));
    }
  }
  add_command(entries, run, experiment, found.first ? found.first->key.device : "");
  Markup text = chain(entries);
  if (found.first != nullptr) {
    const Markup place = place_facts(program, *found.first);
    if (!place.empty()) {
      text += "<h4>The largest difference" + in_comparison(*found.first) + "</h4>" + place;
    }
    text += differences_markup(program, *found.first);
    const Markup lists = top5_tables(program, *found.first);
    if (!lists.empty())
      text += "<details><summary>top 5 of both sides there</summary>" + lists + "</details>";
  }
  return panel("fail", badge("fail", "✕", "fail"), experiment, text);
}

Markup error_panel(const RunResult& run, const ExperimentResult& experiment) {
  std::vector<std::pair<std::string, Markup>> entries;
  std::string device;
  for (const ComparisonResult& one : experiment.comparisons) {
    if (!one.broken()) continue;
    device = one.key.device;
    entries.push_back({"what broke", prose_markup(one.broken()->what) + in_comparison(one)});
    break;
  }
  if (entries.empty()) entries.push_back({"what broke", prose_markup(experiment.judgement.reason)});
  add_command(entries, run, experiment, device);
  return panel("error", badge("error", "!", "error"), experiment, chain(entries));
}

Markup unended_panel(const RunResult& run) {
  const std::string& launcher = run.info.program.launcher;
  Markup how;
  if (!launcher.empty()) {
    const std::string folder = run.info.folder.string();
    const char* const words[] = {"run", "--resume", folder.c_str()};
    how = "; to go on with it: <code>" + for_markup(launcher + " " + command_line(3, words)) +
          "</code>";
  }
  return "<article class=\"panel error\"><h3>" + badge("error", "!", "did not end") + "</h3><p>" +
         prose_markup(run.summary.why) + " What it had finished stands below" + how +
         ".</p></article>";
}

}  // namespace

bool is_red(const RunResult& run) {
  return !run.ended || run.interrupted_by != 0 || run.summary.fail > 0 || run.summary.error > 0;
}

Markup failure_section(const RunResult& run) {
  Markup shown, more;
  std::size_t count = 0;
  const auto add = [&](const Markup& panel) { (count++ < kShown ? shown : more) += panel; };
  if (!run.ended || run.interrupted_by != 0) add(unended_panel(run));
  for (const Verdict verdict : {Verdict::kFail, Verdict::kError}) {
    for (const ExperimentResult& experiment : run.experiments) {
      if (experiment.judgement.verdict != verdict) continue;
      add(verdict == Verdict::kFail ? failed_panel(run, experiment) : error_panel(run, experiment));
    }
  }
  if (!more.empty()) {
    shown += "<details><summary>" + number_markup(count - kShown) + " more</summary>" + more +
             "</details>";
  }
  return section("failures", "Where it went wrong", shown);
}

}  // namespace octlm::verify::html
