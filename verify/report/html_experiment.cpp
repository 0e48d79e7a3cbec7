// The details: what each experiment asked, found and compared. Folded, so that a page of thousands
// of comparisons opens at once.
#include <algorithm>
#include <set>

#include "verify/lenient_json.h"
#include "verify/report/html_sections.h"
#include "verify/report/markup.h"
#include "verify/report/text.h"

namespace octlm::verify::html {
namespace {

std::string cell(const std::string& markup) { return "<td>" + markup + "</td>"; }
std::string number_cell(const std::string& markup) { return "<td class=\"n\">" + markup + "</td>"; }

std::string holds_markup(const CriterionResult& criterion) {
  if (!criterion.holds) return badge("not-run", "○", "not judged");
  return *criterion.holds ? badge("pass", "✓", "holds") : badge("fail", "✕", "does not hold");
}

std::string when_text(const CriterionResult& criterion) {
  std::string text;
  for (const auto& [name, value] : criterion.when) text += ", " + name + " " + value;
  return text;
}

std::string criteria_table(const ExperimentResult& experiment) {
  std::string rows;
  for (const CriterionResult& one : experiment.judgement.criteria) {
    std::string why = one.derivation;
    if (one.implied) why = "implicit: always in force";
    if (!one.note.empty()) why += (why.empty() ? "" : "; ") + one.note;
    rows += "<tr>" +
            cell(name_markup(one.metric) + "<small>" + name_markup(one.device + when_text(one)) +
                 "</small>") +
            cell(holds_markup(one)) + number_cell(for_markup(criterion_text(one))) +
            number_cell(used_text(one)) +
            cell("<bdi>" + name_markup(key_text(one.where)) + "</bdi>") + cell(prose_markup(why)) +
            "</tr>";
  }
  if (rows.empty()) return "";
  return "<h4>Criteria</h4><div class=\"scroll\" "
         "tabindex=\"0\"><table><thead><tr><th>metric</th><th></th><th class=\"n\">worst "
         "value</th><th class=\"n\">used</th><th>where</th><th>why this "
         "bound</th></tr></thead><tbody>" +
         rows + "</tbody></table></div>";
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

const char* state_markup(ComparisonState state) {
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

std::string comparison_row(const ExperimentResult& experiment, const ComparisonResult& comparison,
                           const std::vector<std::string>& metrics) {
  const Judged found = judged(experiment, comparison);
  const ComparisonKey& key = comparison.key;
  std::string row = std::string("<tr>") + state_markup(found.state) +
                    cell("<bdi>" + name_markup(key.case_name) + "</bdi>") +
                    cell(name_markup(key.path)) + cell(name_markup(key.device)) +
                    cell(name_markup(key.dtype));
  const Measurement* measured = comparison.measurement();
  if (!measured) {
    const NotRun* not_run = comparison.not_run();
    return row + "<td colspan=\"" + std::to_string(metrics.size() + 3) + "\">" +
           prose_markup(not_run ? not_run->reason : comparison.broken()->what) + "</td></tr>";
  }
  const auto positions = integer_of(member(measured->record, "positions"));
  row += number_cell(positions ? std::to_string(*positions) : "-") +
         number_cell(found.used ? share_text(*found.used) : "-");
  for (const std::string& name : metrics) {
    const auto value = measured->metrics.find(name);
    row += number_cell(value == measured->metrics.end() ? "-"
                                                        : for_markup(metric_text(value->second)));
  }
  const auto& seconds = member(measured->record, "seconds");
  const auto side = [&](const char* which) {
    const auto value = number_of(member(seconds, which));
    return value ? for_markup(number_text(*value)) : std::string("-");
  };
  return row + number_cell(side("subject") + " / " + side("reference")) + "</tr>";
}

std::string comparisons_table(const ExperimentResult& experiment) {
  if (experiment.comparisons.empty()) return "";
  const std::vector<std::string> metrics = shown_metrics(experiment);
  std::string text =
      "<h4>Comparisons</h4><div class=\"scroll\" "
      "tabindex=\"0\"><table><thead><tr><th></th><th>case</th><th>path</th><th>device</"
      "th><th>dtype</th><th class=\"n\">positions</th><th class=\"n\">used</th>";
  for (const std::string& name : metrics) text += "<th class=\"n\">" + name_markup(name) + "</th>";
  text += "<th class=\"n\">seconds<small>subject / reference</small></th></tr></thead><tbody>";
  for (const ComparisonResult& one : experiment.comparisons) {
    text += comparison_row(experiment, one, metrics) + "\n";
  }
  return text + "</tbody></table></div>";
}

std::string experiment_details(const RunResult& run, const ExperimentResult& experiment) {
  const bool red = experiment.judgement.verdict == Verdict::kFail ||
                   experiment.judgement.verdict == Verdict::kError;
  std::string text = std::string("<details class=\"block experiment\"") + (red ? " open" : "") +
                     "><summary>" + verdict_badge(run, experiment, experiment.judgement.verdict) +
                     " <b>" + name_markup(experiment.id) + "</b> <span class=\"title\">" +
                     name_markup(experiment.title) + "</span><span class=\"quiet\">" +
                     std::to_string(experiment.compared()) + " of " +
                     std::to_string(experiment.planned) + "</span></summary>";
  text += facts(
      {{"verdict", for_markup(verdict_text(experiment))},
       {"kind", name_markup(experiment.kind)},
       {run.info.program.model, experiment.model.empty() ? "none" : name_markup(experiment.model)},
       {"trust", name_markup(trust_text(experiment.trust))},
       {"spec", name_markup(experiment.spec_file)},
       {"seconds", for_markup(number_text(experiment.seconds))}});
  if (!experiment.judgement.reason.empty()) {
    text += "<p>" + prose_markup(experiment.judgement.reason) + "</p>";
  }
  return text + criteria_table(experiment) + comparisons_table(experiment) + "</details>\n";
}

std::string environment_rows(const nlohmann::json& json) {
  std::string rows;
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

std::string not_checked_section(const RunResult& run) {
  constexpr std::size_t kShown = 60;
  const std::vector<NotChecked> list = not_checked(run);
  const Tally made = tally(run);
  if (list.empty() && made.made >= made.planned)
    return section("not-checked", "Not checked", "<p>Everything that was planned was checked.</p>");
  std::string items;
  for (std::size_t i = 0; i < list.size() && i < kShown; ++i) {
    items += "<li><b>" + name_markup(list[i].experiment) + "</b> <bdi>" +
             name_markup(list[i].what) + "</bdi>: " + prose_markup(list[i].reason) + "</li>";
  }
  if (list.size() > kShown) {
    items += "<li>and " + std::to_string(list.size() - kShown) + " more: see results.jsonl</li>";
  }
  return section("not-checked", "Not checked", "<ul>" + items + "</ul>");
}

std::string experiments_section(const RunResult& run) {
  std::string text;
  for (const ExperimentResult& experiment : run.experiments)
    text += experiment_details(run, experiment);
  for (const std::string& id : run.not_started) {
    text += "<p>" + badge("not-run", "○", "not run") + " <b>" + name_markup(id) +
            "</b> the run ended before it</p>";
  }
  return section("experiments", "Experiments", text.empty() ? "<p>none</p>" : text);
}

std::string environment_section(const RunResult& run) {
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
