// The page of index.h: a row for each experiment and engine, its runs from left to right, the share
// of the bound on a logarithmic axis; then the runs, the newest first; then what could not be read.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>

#include "verify/report/html_sections.h"
#include "verify/report/index.h"
#include "verify/report/text.h"

namespace octlm::verify {
namespace {

using namespace html;

constexpr std::size_t kMarks = 120;  // of a row, the newest
constexpr double kHigh = 56;         // of a drawing, in pixels

// One experiment by one engine.
struct Series {
  std::string id, title, engine;
  struct At {
    const IndexedRun* run = nullptr;
    const IndexedRun::Experiment* experiment = nullptr;
  };
  std::vector<At> runs;
};

std::vector<Series> series_of(const std::vector<IndexedRun>& runs) {
  std::map<std::pair<std::string, std::string>, Series> found;
  for (const IndexedRun& run : runs) {
    for (const IndexedRun::Experiment& one : run.experiments) {
      Series& series = found[{one.id, one.engine}];
      series.id = one.id;
      series.title = one.title;
      series.engine = one.engine;
      series.runs.push_back({&run, &one});
    }
  }
  std::vector<Series> list;
  for (auto& [key, series] : found) {
    if (series.runs.size() > kMarks) {
      series.runs.erase(series.runs.begin(), series.runs.end() - kMarks);
    }
    list.push_back(std::move(series));
  }
  return list;
}

// A reference that stays within the folder whatever the names are.
Markup link_to(const std::string& path, const Markup& shown) {
  constexpr const char* kHex = "0123456789ABCDEF";
  std::string encoded = "./";
  for (const char c : path) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                       c == '-' || c == '_' || c == '.' || c == '/';
    const auto byte = static_cast<unsigned char>(c);
    encoded += plain ? std::string(1, c) : std::string("%") + kHex[byte >> 4] + kHex[byte & 15];
  }
  return "<a href=\"" + for_markup(encoded) + "\">" + shown + "</a>";
}

struct Sign {
  Markup style, symbol, word;
};
Sign sign_of(const IndexedRun::Experiment& experiment) {
  switch (experiment.verdict) {
    case Verdict::kPass:
      if (!experiment.counts) {
        return {"uncounted", "◌", "pass, " + name_markup(experiment.label)};
      }
      return {"pass", "✓", "pass"};
    case Verdict::kFail:
      return {"fail", "✕", "fail"};
    case Verdict::kError:
      return {"error", "!", "error"};
    case Verdict::kNotRun:
      break;
  }
  return {"not-run", "○", "not run"};
}

Markup percent(double share) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f%%", 100 * share);
  return for_markup(text);
}

// From 0.1 % to 1000 % of the bound; what is beyond stands at an edge, what has no share below.
double y_of(std::optional<double> used) {
  if (!used || std::isnan(*used)) return kHigh + 14;
  const double at = *used > 0 ? std::clamp(std::log10(*used), -3.0, 1.0) : -3;
  return kHigh * (1 - at) / 4;
}

Markup pixels(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", value);
  return for_markup(text);
}

Markup mark(const Series::At& at, double share) {
  const Sign sign = sign_of(*at.experiment);
  const std::string used = at.experiment->used ? share_text(*at.experiment->used) : "no share";
  const Markup text = "<text class=\"" + sign.style + "-ink\" text-anchor=\"middle\" x=\"" +
                      percent(share) + "\" y=\"" + pixels(y_of(at.experiment->used) + 4) + "\">" +
                      sign.symbol + "<title>" + name_markup(at.run->name) + ": " + sign.word +
                      ", " + for_markup(used) + "</title></text>";
  return link_to(at.run->link, text);
}

Markup drawing(const Series& series) {
  Markup text =
      "<svg class=\"history\" role=\"img\"><title>Verdict and share of the bound, run by "
      "run</title><desc>";
  for (const Series::At& at : series.runs) {
    text += name_markup(at.run->started) + ": " + sign_of(*at.experiment).word;
    if (at.experiment->used) text += ", " + for_markup(share_text(*at.experiment->used));
    text += ". ";
  }
  text += "</desc><line class=\"bound\" x1=\"0\" x2=\"100%\" y1=\"" + pixels(y_of(1)) + "\" y2=\"" +
          pixels(y_of(1)) + "\"/><text x=\"-4\" text-anchor=\"end\" y=\"" + pixels(y_of(1) + 4) +
          "\">100 %</text><line class=\"tick\" x1=\"0\" x2=\"100%\" y1=\"" + pixels(y_of(0.01)) +
          "\" y2=\"" + pixels(y_of(0.01)) + "\"/><text x=\"-4\" text-anchor=\"end\" y=\"" +
          pixels(y_of(0.01) + 4) + "\">1 %</text>";
  for (std::size_t i = 0; i < series.runs.size(); ++i) {
    text += mark(series.runs[i],
                 (static_cast<double>(i) + 0.5) / static_cast<double>(series.runs.size()));
  }
  return text + "</svg>";
}

Markup series_row(const Series& series) {
  const IndexedRun::Experiment& last = *series.runs.back().experiment;
  const Sign sign = sign_of(last);
  Markup used;
  if (last.used) used = for_markup(share_text(*last.used)) + " of its bound";
  return "<article class=\"series\"><h3>" + name_markup(series.id) + " <span class=\"badge " +
         sign.style + "\"><i aria-hidden=\"true\">" + sign.symbol + "</i> " + sign.word +
         "</span></h3><p>" + name_markup(series.title) + "</p><p class=\"quiet\">" +
         name_markup(series.engine.empty() ? "no engine answered" : series.engine) + ", " +
         number_markup(series.runs.size()) +
         (series.runs.size() == 1 ? Markup(" run; ") : Markup(" runs; ")) + used + "</p>" +
         drawing(series) + "</article>\n";
}

Markup run_row(const IndexedRun& run) {
  Markup row = "<tr><td>" + name_markup(run.started) + "</td><td>" +
               link_to(run.link, name_markup(run.name)) + "</td><td>" + prose_markup(run.verdict);
  if (!run.not_checked.empty()) {
    row += "<small>Not checked: " + prose_markup(run.not_checked) + "</small>";
  }
  return row + "</td><td class=\"n\">" +
         (run.ended ? number_markup(run.exit_code) : Markup("did not end")) + "</td></tr>\n";
}

Markup runs_section(const std::vector<IndexedRun>& runs) {
  Markup rows;
  for (auto run = runs.rbegin(); run != runs.rend(); ++run) {
    if (run->fault.empty()) rows += run_row(*run);
  }
  if (rows.empty()) return section("runs", "Runs", "<p>No run can be read here.</p>");
  return section("runs", "Runs",
                 "<div class=\"scroll\" "
                 "tabindex=\"0\"><table><thead><tr><th>started</th><th>run</th><th>what it "
                 "found</th><th class=\"n\">exit code</th></tr></thead><tbody>" +
                     rows + "</tbody></table></div>");
}

Markup damaged_section(const std::vector<IndexedRun>& runs) {
  Markup items;
  for (const IndexedRun& run : runs) {
    if (run.fault.empty()) continue;
    items += "<li><b>" + name_markup(run.name) + "</b>: " + prose_markup(run.fault) + "</li>";
  }
  if (items.empty()) return "";
  return section("damaged", "Damaged: no run can be read from these folders",
                 "<ul>" + items + "</ul>");
}

}  // namespace

std::string index_page(const std::vector<IndexedRun>& runs, const Program& program) {
  Markup rows;
  for (const Series& one : series_of(runs)) rows += series_row(one);
  if (rows.empty()) rows = "<p>none</p>";
  const auto readable =
      std::ranges::count_if(runs, [](const IndexedRun& run) { return run.fault.empty(); });
  const Markup title = name_markup(program.name) + ": " + number_markup(readable) +
                       (readable == 1 ? Markup(" run") : Markup(" runs"));
  const Markup page =
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta "
      "http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
      "'unsafe-inline'; base-uri 'none'; form-action 'none'\"><meta name=\"viewport\" "
      "content=\"width=device-width, initial-scale=1\"><meta name=\"color-scheme\" "
      "content=\"light dark\"><title>" +
      title + "</title><style>" + style() + "</style></head><body><main>\n<h1>" + title +
      "</h1>\n" +
      section("history", "Experiments, by engine",
              "<p class=\"legend\">From left to right the runs, the oldest first; from the bottom "
              "up the share of the bound that the worst comparison used. What has no share stands "
              "below. A mark leads to its run: ✓ pass, ✕ fail, ! error, ◌ a pass that does not "
              "count, ○ not run.</p>" +
                  ("<div class=\"all-series\">" + rows + "</div>")) +
      damaged_section(runs) + runs_section(runs) + "</main></body></html>\n";
  return page.text();
}

}  // namespace octlm::verify
