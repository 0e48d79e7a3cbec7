#include "verify/report/markdown.h"

#include <algorithm>

#include "verify/report/display_width.h"
#include "verify/report/escape.h"
#include "verify/report/facts.h"
#include "verify/report/markup.h"
#include "verify/report/repeat_command.h"
#include "verify/report/text.h"

namespace octlm::verify {
namespace {

constexpr std::size_t kMaxBytes = 900 * 1024;  // a CI step summary takes 1 MiB
constexpr std::size_t kMaxCell = 600;          // bytes of one text before it is escaped
constexpr std::size_t kMaxEntries = 60;        // of a list

std::string cell(const std::string& text) { return for_markdown(shortened(text, kMaxCell)); }

using Row = std::vector<std::string>;

// How wide it is in a file: the symbols of verdicts take two columns, one is two characters.
std::size_t width_of(const std::string& text) {
  std::size_t width = display_width(text);
  for (const char* wide : {"✅", "❌", "⚪"}) width += text.find(wide) != std::string::npos;
  return width;
}

// A table that reads as one without being rendered: every column as wide as its widest cell, up to
// a limit that one long text may pass.
std::string table(const std::vector<Row>& rows) {
  constexpr std::size_t kWidest = 60;
  std::vector<std::size_t> widths(rows.front().size(), 3);
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (width_of(row[i]) <= kWidest) widths[i] = std::max(widths[i], width_of(row[i]));
    }
  }
  const auto line = [&](const Row& row, char fill) {
    std::string text = "|";
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::size_t has = width_of(row[i]);
      text += std::string(1, fill) + row[i] +
              std::string(widths[i] - std::min(widths[i], has), fill) + fill + "|";
    }
    return text + "\n";
  };
  std::string text = line(rows.front(), ' ') + line(Row(widths.size()), '-');
  for (std::size_t i = 1; i < rows.size(); ++i) text += line(rows[i], ' ');
  return text;
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

Row experiment_row(const ExperimentResult& experiment) {
  const CriterionResult* decisive = decisive_criterion(experiment);
  return {cell(experiment.id),
          cell(experiment.kind),
          symbol(experiment.judgement.verdict) + cell(verdict_text(experiment)),
          std::to_string(experiment.compared()) + " of " + std::to_string(experiment.planned),
          decisive ? cell(decisive->metric + " " + criterion_text(*decisive)) : "-",
          decisive ? used_text(*decisive) : "-",
          seconds_text(experiment),
          cell(trust_text(experiment.trust))};
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
    entries.push_back(cell(one.who()) + ", " + cell(one.what) + ": " + cell(one.reason));
  }
  return "\n**Not checked**\n\n" + bullets(entries);
}

std::string joined(const std::vector<std::string>& names, const char* none) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text.empty() ? none : text;
}

std::string engines_section(const RunResult& run) {
  return "\nUnder test: " + cell(joined(subjects_of(run), "no engine answered")) +
         "; reference: " + cell(joined(references_of(run), "none was used")) + ".\n";
}

// As a block of code, in which nothing is markup but a longer fence.
std::string code_block(const std::string& text) {
  std::string fence = "```";
  while (text.find(fence) != std::string::npos) fence += '`';
  return fence + "sh\n" + text + "\n" + fence + "\n";
}

std::string origin_section(const RunResult& run) {
  const RunInfo& info = run.info;
  const std::string dirty = !info.dirty ? " (state unknown)" : *info.dirty ? " (modified)" : "";
  return "\n" + cell(info.program.name) + " " + cell(info.version) + ", commit " +
         cell(info.commit) + dirty + ", code " + cell(info.code_sha256.substr(0, 12)) +
         ", started " + cell(info.started) +
         (info.resumed.empty() ? "" : ", interrupted, resumed " + cell(info.resumed)) +
         (info.ledger_head ? ", ledger head " + cell(info.ledger_head->substr(0, 12)) : "") +
         ".\n\nTo repeat:\n\n" +
         code_block(shortened(for_terminal(repeat_command(run)), 4 * kMaxCell));
}

}  // namespace

std::string markdown_summary(const RunResult& run) {
  std::string text = "## " + cell(run.info.program.name) + ": " + cell(headline(run)) + "\n\n" +
                     cell(run.summary.why) + "\n";
  text += engines_section(run) + red_section(run) + not_checked_section(run) + "\n";
  std::vector<Row> rows = {{"experiment", "kind", "verdict", "compared", "worst against its bound",
                            "used", "seconds subject / reference", "label"}};
  std::size_t bytes = text.size();
  for (const ExperimentResult& experiment : run.experiments) {
    Row row = experiment_row(experiment);
    for (const std::string& one : row) bytes += std::max<std::size_t>(one.size(), 64);
    if (bytes > kMaxBytes) break;
    rows.push_back(std::move(row));
  }
  text += table(rows);
  if (const std::size_t left = run.experiments.size() + 1 - rows.size(); left > 0) {
    text += "\n" + std::to_string(left) + " more experiments are in results.jsonl.\n";
  }
  return text + origin_section(run);
}

}  // namespace octlm::verify
