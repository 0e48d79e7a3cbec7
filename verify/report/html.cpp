#include "verify/report/html.h"

#include "verify/report/html_sections.h"
#include "verify/report/markup.h"

namespace octlm::verify {
namespace html {

std::string badge(const char* style, const char* symbol, const std::string& text) {
  return std::string("<span class=\"badge ") + style + "\"><i aria-hidden=\"true\">" + symbol +
         "</i> " + for_markup(text) + "</span>";
}

std::string verdict_badge(const RunResult& run, const ExperimentResult& experiment,
                          Verdict verdict) {
  switch (verdict) {
    case Verdict::kPass:
      if (!counts(run, experiment))
        return badge("uncounted", "◌", "pass, " + experiment.trust.label);
      return badge("pass", "✓", "pass");
    case Verdict::kFail:
      return badge("fail", "✕", "fail");
    case Verdict::kError:
      return badge("error", "!", "error");
    case Verdict::kNotRun:
      break;
  }
  return badge("not-run", "○", "not run");
}

std::string section(const char* id, const char* title, const std::string& content) {
  return std::string("<section class=\"s-") + id + "\" aria-labelledby=\"" + id + "\"><h2 id=\"" +
         id + "\">" + title + "</h2>" + content + "</section>\n";
}

std::string facts(const std::vector<std::pair<std::string, std::string>>& entries) {
  std::string text = "<dl>";
  for (const auto& [name, value] : entries) {
    text += "<div><dt>" + for_markup(name) + "</dt><dd>" + value + "</dd></div>";
  }
  return text + "</dl>";
}

std::string changes_section(const ReportContext& context) {
  constexpr std::size_t kShown = 8;
  constexpr const char* kTitle = "Since the last published run";
  if (!context.published) return section("changes", kTitle, "<p>No published run.</p>");
  const PublishedRun& published = *context.published;
  std::string text = "<p>Against <code>" + name_markup(published.name) +
                     "</code>: " + for_markup(difference_headline(published.difference)) + ".</p>";
  std::string shown, more;
  const auto& changes = published.difference.changes;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    const bool worse = changes[i].weight == RunChange::Weight::kWorse;
    const bool better = changes[i].weight == RunChange::Weight::kBetter;
    const std::string item = std::string("<li>") +
                             (worse    ? "<span class=\"fail-ink\">▼ worse</span> "
                              : better ? "<span class=\"pass-ink\">▲ better</span> "
                                       : "") +
                             prose_markup(change_text(changes[i])) + "</li>";
    if (i < 3) {
      shown += item;
    } else if (i < 3 + kShown * 10) {
      more += item;
    }
  }
  if (!shown.empty()) text += "<ul>" + shown + "</ul>";
  if (!more.empty()) {
    text += "<details><summary>" + std::to_string(changes.size() - 3) + " more</summary><ul>" +
            more + "</ul></details>";
  }
  return section("changes", kTitle, text);
}

std::string command_section(const RunResult& run) {
  const std::string& commit = run.info.commit;
  return section(
      "command", "To repeat it",
      "<pre><code>" + prose_markup(run.info.command) + "</code></pre>" +
          (commit.empty() || commit == "unknown"
               ? ""
               : "<p class=\"legend\">at commit <code>" + name_markup(commit) + "</code>" +
                     (run.info.dirty == true ? ", with changes that no commit has" : "") + "</p>"));
}

}  // namespace html

// In the order of design: the sentence, the coverage, the rulers (when red: the failures), the
// tightest spot, trust, changes, the command; then the details.
std::string html_report(const RunResult& run, const ReportContext& context) {
  using namespace html;
  const bool red = is_red(run);
  return "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta "
         "http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
         "'unsafe-inline'; base-uri 'none'; form-action 'none'\"><meta name=\"viewport\" "
         "content=\"width=device-width, initial-scale=1\"><meta name=\"color-scheme\" "
         "content=\"light dark\"><title>" +
         name_markup(run.info.program.name + ": " + sentence(run).verdict) + "</title><style>" +
         kStyle + "</style></head><body><main>\n" + headline_section(run, context) +
         coverage_section(run) + (red ? failure_section(run) : rulers_section(run)) +
         tightest_section(run) + trust_section(run) + changes_section(context) +
         command_section(run) + "<hr>\n" + not_checked_section(run) +
         (red ? rulers_section(run) : "") + experiments_section(run) +
         section("record", "Record", trust_table(run) + environment_section(run)) +
         "</main></body></html>\n";
}

}  // namespace octlm::verify
