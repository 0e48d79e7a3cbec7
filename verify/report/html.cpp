#include "verify/report/html.h"

#include "verify/report/html_sections.h"
#include "verify/report/markup.h"
#include "verify/report/repeat_command.h"

namespace octlm::verify {
namespace html {

Markup badge(const Markup& style, const Markup& symbol, const std::string& text) {
  return "<span class=\"badge " + style + "\"><i aria-hidden=\"true\">" + symbol + "</i> " +
         for_markup(text) + "</span>";
}

Markup verdict_badge(const RunResult& run, const ExperimentResult& experiment, Verdict verdict) {
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

std::string anchor_of(const std::string& id) {
  constexpr const char* kHex = "0123456789abcdef";
  std::string anchor = !id.empty() && id[0] >= 'A' && id[0] <= 'Z' ? "" : "experiment-";
  for (const char c : id.substr(0, 160)) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                       c == '-' || c == '.';
    const auto byte = static_cast<unsigned char>(c);
    anchor += plain ? std::string(1, c) : std::string("_") + kHex[byte >> 4] + kHex[byte & 15];
  }
  return anchor;
}

Markup experiment_link(const std::string& id, const Markup& shown) {
  return "<a href=\"#" + for_markup(anchor_of(id)) + "\">" + shown + "</a>";
}

Markup experiment_link(const std::string& id) { return experiment_link(id, name_markup(id)); }

Markup section(const Markup& id, const Markup& title, const Markup& content) {
  return "<section class=\"s-" + id + "\" aria-labelledby=\"" + id + "\"><h2 id=\"" + id + "\">" +
         title + "</h2>" + content + "</section>\n";
}

Markup facts(const std::vector<std::pair<std::string, Markup>>& entries) {
  Markup text = "<dl>";
  for (const auto& [name, value] : entries) {
    text += "<div><dt>" + for_markup(name) + "</dt><dd>" + value + "</dd></div>";
  }
  return text + "</dl>";
}

Markup changes_section(const ReportContext& context) {
  constexpr std::size_t kShown = 8;
  const Markup title = "Since the last published run";
  if (!context.published) return section("changes", title, "<p>No published run.</p>");
  const PublishedRun& published = *context.published;
  Markup text = "<p>Against <code>" + name_markup(published.name) +
                "</code>: " + for_markup(difference_headline(published.difference)) + ".</p>";
  Markup shown, more;
  const auto& changes = published.difference.changes;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    const bool worse = changes[i].weight == RunChange::Weight::kWorse;
    const bool better = changes[i].weight == RunChange::Weight::kBetter;
    Markup item = "<li>";
    if (worse) item += "<span class=\"fail-ink\">▼ worse</span> ";
    if (better) item += "<span class=\"pass-ink\">▲ better</span> ";
    item += prose_markup(change_text(changes[i])) + "</li>";
    if (i < 3) {
      shown += item;
    } else if (i < 3 + kShown * 10) {
      more += item;
    }
  }
  if (!shown.empty()) text += "<ul>" + shown + "</ul>";
  if (!more.empty()) {
    text += "<details><summary>" + number_markup(changes.size() - 3) + " more</summary><ul>" +
            more + "</ul></details>";
  }
  return section("changes", title, text);
}

Markup command_section(const RunResult& run) {
  const std::string& commit = run.info.commit;
  Markup text = "<pre><code>" + for_markup(repeat_command(run)) + "</code></pre>";
  if (!commit.empty() && commit != "unknown") {
    text += "<p class=\"legend\">at commit <code>" + name_markup(commit) + "</code>";
    if (run.info.dirty == true) text += ", with changes that no commit has";
    text += "</p>";
  }
  return section("command", "To repeat it", text);
}

}  // namespace html

// In the order of design: the sentence, the coverage, the rulers (when red: the failures), the
// tightest spot, trust, changes, the command; then the details.
std::string html_report(const RunResult& run, const ReportContext& context) {
  using namespace html;
  const bool red = is_red(run);
  Markup page =
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta "
      "http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
      "'unsafe-inline'; base-uri 'none'; form-action 'none'\"><meta name=\"viewport\" "
      "content=\"width=device-width, initial-scale=1\"><meta name=\"color-scheme\" "
      "content=\"light dark\"><title>";
  page += name_markup(run.info.program.name + ": " + sentence(run).verdict) + "</title><style>" +
          style() + "</style></head><body><main>\n" + headline_section(run, context) +
          coverage_section(run) + (red ? failure_section(run) : rulers_section(run)) +
          tightest_section(run) + trust_section(run) + changes_section(context) +
          command_section(run) + "<hr>\n" + not_checked_section(run);
  if (red) page += rulers_section(run);
  page += experiments_section(run) +
          section("record", "Record", trust_table(run) + environment_section(run)) +
          "</main></body></html>\n";
  return page.text();
}

}  // namespace octlm::verify
