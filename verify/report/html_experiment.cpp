// The details: what each experiment asked, found and compared. Folded, so that a page of thousands
// of comparisons opens at once.
#include <algorithm>
#include <cmath>

#include "verify/lenient_json.h"
#include "verify/report/html_sections.h"
#include "verify/report/markup.h"
#include "verify/report/text.h"

namespace octlm::verify::html {
namespace {

Markup cell(const Markup& markup) { return "<td>" + markup + "</td>"; }
Markup number_cell(const Markup& markup) { return "<td class=\"n\">" + markup + "</td>"; }
Markup bdi(const std::string& text) { return "<bdi>" + name_markup(text) + "</bdi>"; }

// A table that scrolls by itself where it is wider than the page.
Markup scrolled(const Markup& head, const Markup& rows) {
  return "<div class=\"scroll\" tabindex=\"0\"><table><thead><tr>" + head + "</tr></thead><tbody>" +
         rows + "</tbody></table></div>";
}

Markup holds_markup(const CriterionResult& criterion) {
  if (!criterion.holds) return badge("not-run", "○", "not judged");
  return *criterion.holds ? badge("pass", "✓", "holds") : badge("fail", "✕", "does not hold");
}

std::string when_text(const CriterionResult& criterion) {
  std::string text;
  for (const auto& [name, value] : criterion.when) text += ", " + name + " " + value;
  return text;
}

Markup criteria_table(const ExperimentResult& experiment) {
  Markup rows;
  for (const CriterionResult& one : experiment.judgement.criteria) {
    std::string why = one.derivation;
    if (one.implied) why = "implicit: always in force";
    if (!one.note.empty()) why += (why.empty() ? "" : "; ") + one.note;
    rows += "<tr>" +
            cell(name_markup(one.metric) + "<small>" + name_markup(one.device + when_text(one)) +
                 "</small>") +
            cell(holds_markup(one)) + number_cell(for_markup(criterion_text(one))) +
            number_cell(for_markup(used_text(one))) + cell(bdi(key_text(one.where))) +
            cell(prose_markup(why)) + "</tr>";
  }
  if (rows.empty()) return "";
  return "<h4>Criteria</h4>" + scrolled(
                                   "<th>metric</th><th></th><th class=\"n\">worst value</th><th "
                                   "class=\"n\">used</th><th>where</th><th>why this bound</th>",
                                   rows);
}

// The metrics that criteria judge, then the few that say most; not all dozen of them.
std::vector<std::string> shown_metrics(const ExperimentResult& experiment) {
  std::vector<std::string> names;
  const auto add = [&](const std::string& name) {
    if (names.size() < 6 && std::ranges::find(names, name) == names.end()) names.push_back(name);
  };
  for (const CriterionResult& one : experiment.judgement.criteria) add(one.metric);
  for (const char* name : {"max_abs_error@1", "top1_agreement@1", "kl_max@1", "rel_l2@1"}) {
    const bool there =
        std::ranges::any_of(experiment.comparisons, [&](const ComparisonResult& one) {
          return one.measurement() && one.measurement()->metrics.contains(name);
        });
    if (there) add(name);
  }
  return names;
}

Markup state_markup(ComparisonState state) {
  switch (state) {
    case ComparisonState::kHeld:
      return "<td class=\"v pass\">✓ holds</td>";
    case ComparisonState::kBroke:
      return "<td class=\"v fail\">✕ fails</td>";
    case ComparisonState::kError:
      return "<td class=\"v error\">! error</td>";
    case ComparisonState::kNotRun:
      return "<td class=\"v not-run\">○ not run</td>";
    case ComparisonState::kNoVerdict:
      return "<td class=\"v not-run\">○ no verdict</td>";
  }
  return "<td></td>";
}

Markup key_cells(const ComparisonKey& key) {
  return cell(bdi(key.case_name)) + cell(name_markup(key.path)) + cell(name_markup(key.device)) +
         cell(name_markup(key.dtype));
}

Markup measured_row(const ExperimentResult& experiment, const ComparisonResult& comparison,
                    const std::vector<std::string>& metrics) {
  const Judged found = judged(experiment, comparison);
  const Measurement& measured = *comparison.measurement();
  const auto positions = integer_of(member(measured.record, "positions"));
  Markup row = "<tr>" + state_markup(found.state) + key_cells(comparison.key) +
               number_cell(positions ? number_markup(*positions) : Markup("-")) +
               number_cell(for_markup(found.used ? share_text(*found.used) : "-"));
  for (const std::string& name : metrics) {
    const auto value = measured.metrics.find(name);
    row +=
        number_cell(for_markup(value == measured.metrics.end() ? "-" : metric_text(value->second)));
  }
  const auto& seconds = member(measured.record, "seconds");
  const auto side = [&](const char* which) {
    const auto value = number_of(member(seconds, which));
    return value ? number_text(*value) : std::string("-");
  };
  return row + number_cell(for_markup(side("subject") + " / " + side("reference"))) + "</tr>\n";
}

// Those that did not take place, by device and reason: one row for all that share them.
struct Absent {
  ComparisonState state = ComparisonState::kNotRun;
  ComparisonKey first;
  std::string reason;
  std::int64_t count = 0;
};

std::vector<Absent> absent_of(const ExperimentResult& experiment) {
  std::vector<Absent> list;
  for (const ComparisonResult& one : experiment.comparisons) {
    if (one.measurement()) continue;
    const NotRun* not_run = one.not_run();
    const ComparisonState state = not_run ? ComparisonState::kNotRun : ComparisonState::kError;
    const std::string& reason = not_run ? not_run->reason : one.broken()->what;
    auto same = std::ranges::find_if(list, [&](const Absent& known) {
      return known.state == state && known.first.device == one.key.device && known.reason == reason;
    });
    if (same == list.end()) same = list.insert(list.end(), {state, one.key, reason, 0});
    ++same->count;
  }
  return list;
}

Markup absent_row(const Absent& absent, std::size_t columns) {
  const Markup rest = "<td colspan=\"" + number_markup(columns) + "\">";
  if (absent.count == 1) {
    return "<tr>" + state_markup(absent.state) + key_cells(absent.first) + rest +
           prose_markup(absent.reason) + "</td></tr>\n";
  }
  const Markup what =
      absent.state == ComparisonState::kNotRun ? Markup("not run: ") : Markup("error: ");
  return "<tr>" + state_markup(absent.state) + "<td colspan=\"4\">" + number_markup(absent.count) +
         " comparisons on " + name_markup(absent.first.device) + "</td>" + rest + what +
         prose_markup(absent.reason) + "</td></tr>\n";
}

Markup comparisons_table(const ExperimentResult& experiment) {
  if (experiment.comparisons.empty()) return "";
  const std::vector<std::string> metrics = shown_metrics(experiment);
  Markup rows;
  for (const ComparisonResult& one : experiment.comparisons) {
    if (one.measurement()) rows += measured_row(experiment, one, metrics);
  }
  const bool measured = !rows.empty();
  for (const Absent& one : absent_of(experiment)) {
    rows += absent_row(one, measured ? metrics.size() + 3 : 1);
  }
  Markup head = "<th></th><th>case</th><th>path</th><th>device</th><th>dtype</th>";
  if (measured) {
    head += "<th class=\"n\">positions</th><th class=\"n\">used</th>";
    for (const std::string& name : metrics) {
      head += "<th class=\"n\">" + name_markup(name) + "</th>";
    }
    head += "<th class=\"n\">seconds<small>subject / reference</small></th>";
  } else {
    head += "<th>why not</th>";
  }
  return "<h4>Comparisons</h4>" + scrolled(head, rows);
}

Markup worst_row(const Program& program, const ComparisonResult& comparison) {
  const auto& worst = member(comparison.measurement()->record, "worst");
  const auto position = integer_of(member(worst, "position"));
  const auto ulps = integer_of(member(worst, "ulps"));
  const auto& metrics = comparison.measurement()->metrics;
  const auto error = metrics.find("max_abs_error@1");
  Markup row = "<tr>" + cell(bdi(comparison.key.case_name)) +
               cell(name_markup(comparison.key.path)) + cell(name_markup(comparison.key.device)) +
               number_cell(position ? number_markup(*position) : Markup("-")) +
               cell(column_markup(program, worst));
  if (!program.context.empty()) row += cell(context_markup(worst));
  return row + number_cell(exact_markup(member(worst, "subject"))) +
         number_cell(exact_markup(member(worst, "reference"))) +
         number_cell(for_markup(error == metrics.end() ? "-" : metric_text(error->second))) +
         number_cell(ulps ? number_markup(*ulps) : Markup("-")) + "</tr>\n";
}

double error_of(const ComparisonResult& comparison) {
  const auto& metrics = comparison.measurement()->metrics;
  const auto error = metrics.find("max_abs_error@1");
  if (error == metrics.end()) return 0;
  const double value = as_number(error->second);
  return std::isfinite(value) ? value : HUGE_VAL;
}

// Those with a worst place, in the order of the plan; where they are too many for a page, those of
// the largest errors alone.
std::vector<const ComparisonResult*> with_worst(const ExperimentResult& experiment,
                                                std::size_t most) {
  std::vector<const ComparisonResult*> list;
  for (const ComparisonResult& one : experiment.comparisons) {
    if (one.measurement() && member(one.measurement()->record, "worst").is_object()) {
      list.push_back(&one);
    }
  }
  if (list.size() <= most) return list;
  std::ranges::stable_sort(list, std::ranges::greater(),
                           [](const ComparisonResult* one) { return error_of(*one); });
  list.resize(most);
  return list;
}

// Where each comparison is worst: the place, its text, both values. Folded.
Markup worst_table(const RunResult& run, const ExperimentResult& experiment) {
  const Program& program = run.info.program;
  const std::size_t share = 600 / std::max<std::size_t>(1, run.experiments.size());
  const auto shown = with_worst(experiment, std::clamp<std::size_t>(share, 6, 100));
  if (shown.empty()) return "";
  Markup rows;
  for (const ComparisonResult* one : shown) rows += worst_row(program, *one);
  Markup head = "<th>case</th><th>path</th><th>device</th><th class=\"n\">position</th><th>" +
                for_markup(program.column) + "</th>";
  if (!program.context.empty()) head += "<th>" + for_markup(program.context) + "</th>";
  head +=
      "<th class=\"n\">subject</th><th class=\"n\">reference</th><th "
      "class=\"n\">difference</th><th class=\"n\">ulps</th>";
  Markup text = "<details><summary>Where each comparison is worst</summary>" + scrolled(head, rows);
  if (std::ssize(shown) < experiment.compared()) {
    text += "<p class=\"legend\">" + number_markup(shown.size()) + " of " +
            number_markup(experiment.compared()) +
            " comparisons: the others have smaller errors, or no such place.</p>";
  }
  return text + "</details>";
}

Markup experiment_details(const RunResult& run, const ExperimentResult& experiment) {
  const bool red = experiment.judgement.verdict == Verdict::kFail ||
                   experiment.judgement.verdict == Verdict::kError;
  Markup text = "<details class=\"block experiment\" id=\"" + for_markup(anchor_of(experiment.id)) +
                (red ? Markup("\" open>") : Markup("\">")) + "<summary>" +
                verdict_badge(run, experiment, experiment.judgement.verdict) + " <b>" +
                name_markup(experiment.id) + "</b> <span class=\"title\">" +
                name_markup(experiment.title) + "</span><span class=\"quiet\">" +
                number_markup(experiment.compared()) + " of " + number_markup(experiment.planned) +
                "</span></summary>";
  text += facts(
      {{"verdict", for_markup(verdict_text(experiment))},
       {"kind", name_markup(experiment.kind)},
       {run.info.program.model, name_markup(experiment.model.empty() ? "none" : experiment.model)},
       {"trust", name_markup(trust_text(experiment.trust))},
       {"spec", name_markup(experiment.spec_file)},
       {"seconds", for_markup(number_text(experiment.seconds))}});
  if (!experiment.judgement.reason.empty()) {
    text += "<p>" + prose_markup(experiment.judgement.reason) + "</p>";
  }
  return text + criteria_table(experiment) + error_charts(run, experiment) +
         comparisons_table(experiment) + worst_table(run, experiment) + "</details>\n";
}

Markup environment_rows(const nlohmann::json& json) {
  Markup rows;
  if (!json.is_object()) return rows;
  std::size_t shown = 0;
  for (const auto& [name, value] : json.items()) {
    if (++shown > 100) break;
    const std::string text =
        value.is_string() ? string_of(value)
                          : value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    rows += "<tr><th scope=\"row\">" + name_markup(name) + "</th><td>" + prose_markup(text) +
            "</td></tr>";
  }
  return rows;
}

}  // namespace

Markup not_checked_section(const RunResult& run) {
  constexpr std::size_t kShown = 60;
  const std::vector<NotChecked> list = not_checked(run);
  const Tally made = tally(run);
  if (list.empty() && made.made >= made.planned)
    return section("not-checked", "Not checked", "<p>Everything that was planned was checked.</p>");
  Markup items;
  for (std::size_t i = 0; i < list.size() && i < kShown; ++i) {
    items += "<li><b>" +
             (list[i].experiment.empty() ? name_markup(list[i].who())
                                         : experiment_link(list[i].experiment)) +
             "</b> <bdi>" + name_markup(list[i].what) + "</bdi>: " + prose_markup(list[i].reason) +
             "</li>";
  }
  if (list.size() > kShown) {
    items += "<li>and " + number_markup(list.size() - kShown) + " more: see results.jsonl</li>";
  }
  return section("not-checked", "Not checked", "<ul>" + items + "</ul>");
}

Markup experiments_section(const RunResult& run) {
  Markup text;
  for (const ExperimentResult& experiment : run.experiments)
    text += experiment_details(run, experiment);
  for (const std::string& id : run.not_started) {
    text += "<p id=\"" + for_markup(anchor_of(id)) + "\">" + badge("not-run", "○", "not run") +
            " <b>" + name_markup(id) + "</b> the run ended before it</p>";
  }
  return section("experiments", "Experiments", text.empty() ? Markup("<p>none</p>") : text);
}

Markup environment_section(const RunResult& run) {
  const RunInfo& info = run.info;
  const nlohmann::json origin = {
      {"version", info.version},
      {"commit", info.commit + (!info.dirty   ? " (state unknown)"
                                : *info.dirty ? " (modified)"
                                              : "")},
      {"code_sha256", info.code_sha256},
      {"subject_sha256",
       info.subject_sha256.empty() ? info.program.own_subject : info.subject_sha256},
      {"started", info.started},
      {"resumed", info.resumed.empty() ? "no" : info.resumed}};
  return "<details class=\"block\"><summary>Code and machine</summary><div class=\"scroll\" "
         "tabindex=\"0\"><table class=\"plain\"><tbody>" +
         environment_rows(origin) + environment_rows(info.environment) +
         "</tbody></table></div></details>\n";
}

}  // namespace octlm::verify::html
