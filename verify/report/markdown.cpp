#include "verify/report/markdown.h"

#include "verify/report/escape.h"
#include "verify/report/markup.h"
#include "verify/report/text.h"

namespace octlm::verify {
namespace {

constexpr std::size_t kMaxBytes = 900 * 1024;  // a CI step summary takes 1 MiB
constexpr std::size_t kMaxCell = 600;          // bytes of one text before it is escaped
constexpr std::size_t kMaxEntries = 60;        // of a list

std::string cell(const std::string& text) { return for_markdown(shortened(text, kMaxCell)); }

std::string row(const std::vector<std::string>& cells) {
  std::string text = "|";
  for (const std::string& one : cells) text += " " + one + " |";
  return text + "\n";
}

const char* symbol(Verdict verdict) {
  switch (verdict) {
    case Verdict::kPass:
      return "✅ ";
    case Verdict::kFail:
      return "❌ ";
    case Verdict::kNotRun:
      return "⚪ ";
    case Verdict::kError:
      return "⚠️ ";
  }
  return "";
}

std::string seconds_text(const ExperimentResult& experiment) {
  const SideSeconds seconds = side_seconds(experiment);
  const auto text = [](std::optional<double> side) { return side ? number_text(*side) : "-"; };
  return text(seconds.subject) + " / " + text(seconds.reference);
}

std::string experiment_row(const ExperimentResult& experiment) {
  const CriterionResult* decisive = decisive_criterion(experiment);
  return row({cell(experiment.id), cell(experiment.kind),
              symbol(experiment.judgement.verdict) + cell(verdict_text(experiment)),
              std::to_string(experiment.compared()) + " of " + std::to_string(experiment.planned),
              decisive ? cell(decisive->metric + " " + criterion_text(*decisive)) : "-",
              decisive ? used_text(*decisive) : "-", seconds_text(experiment),
              cell(trust_text(experiment.trust))});
}

// Bullets, as many as fit; the rest are counted.
std::string bullets(const std::vector<std::string>& entries) {
  std::string text;
  for (std::size_t i = 0; i < entries.size() && i < kMaxEntries; ++i)
    text += "- " + entries[i] + "\n";
  if (entries.size() > kMaxEntries) {
    text += "- and " + std::to_string(entries.size() - kMaxEntries) + " more: see results.jsonl\n";
  }
  return text;
}

std::string red_section(const RunResult& run) {
  std::vector<std::string> entries;
  for (const ExperimentResult& experiment : run.experiments) {
    const Verdict verdict = experiment.judgement.verdict;
    if (verdict != Verdict::kFail && verdict != Verdict::kError) continue;
    entries.push_back(cell(experiment.id) + " (" + cell(experiment.title) +
                      "): " + cell(experiment.judgement.reason));
  }
  return entries.empty() ? "" : "\n**Failed**\n\n" + bullets(entries);
}

std::string not_checked_section(const RunResult& run) {
  const std::vector<NotChecked> list = not_checked(run);
  const Tally made = tally(run);
  if (list.empty() && made.made >= made.planned)
    return "\nEverything that was planned was checked.\n";
  std::vector<std::string> entries;
  for (const NotChecked& one : list) {
    entries.push_back(cell(one.experiment) + ", " + cell(one.what) + ": " + cell(one.reason));
  }
  return "\n**Not checked**\n\n" + bullets(entries);
}

std::string origin_section(const RunInfo& info) {
  const std::string dirty = !info.dirty ? " (state unknown)" : *info.dirty ? " (modified)" : "";
  return "\n" + cell(info.program.name) + " " + cell(info.version) + ", commit " +
         cell(info.commit) + dirty + ", code " + cell(info.code_sha256.substr(0, 12)) +
         ", started " + cell(info.started) +
         (info.resumed.empty() ? "" : ", interrupted, resumed " + cell(info.resumed)) +
         (info.ledger_head ? ", ledger head " + cell(info.ledger_head->substr(0, 12)) : "") +
         ".\n" + "To repeat: <code>" + cell(info.command) + "</code>\n";
}

}  // namespace

std::string markdown_summary(const RunResult& run) {
  std::string text = "## " + cell(run.info.program.name) + ": " + cell(headline(run)) + "\n\n" +
                     cell(run.summary.why) + "\n";
  text += red_section(run) + not_checked_section(run) + "\n";
  text += row({"experiment", "kind", "verdict", "compared", "worst against its bound", "used",
               "seconds subject / reference", "label"});
  text += "|---|---|---|---|---|---|---|---|\n";
  std::size_t left = run.experiments.size();
  for (const ExperimentResult& experiment : run.experiments) {
    if (text.size() > kMaxBytes) {
      text += "\n" + std::to_string(left) + " more experiments are in results.jsonl.\n";
      break;
    }
    text += experiment_row(experiment);
    --left;
  }
  return text + origin_section(run.info);
}

}  // namespace octlm::verify
