// Why these results may be believed, or not: in one line, and by experiment.
#include <algorithm>
#include <map>

#include "verify/report/html_sections.h"
#include "verify/report/markup.h"
#include "verify/report/text.h"

namespace octlm::verify::html {
namespace {

std::string day(const std::string& time) {
  return time.substr(0, std::min<std::size_t>(10, time.size()));
}

std::string labels_text(const RunResult& run) {
  std::map<std::string, std::int64_t> labels;
  for (const ExperimentResult& one : run.experiments) ++labels[one.trust.label];
  std::string text;
  for (const auto& [label, count] : labels) {
    text += (text.empty() ? "" : ", ") + std::to_string(count) + " " + label;
  }
  return text.empty() ? "none" : text;
}

std::string registered_text(const RunResult& run) {
  std::string first, last;
  std::int64_t without = 0;
  for (const ExperimentResult& one : run.experiments) {
    const std::string& time = one.trust.registered_time;
    without += time.empty();
    if (time.empty()) continue;
    if (first.empty() || time < first) first = time;
    if (time > last) last = time;
  }
  if (first.empty()) return "none is registered";
  return day(first) + (day(first) == day(last) ? "" : " to " + day(last)) +
         (without > 0 ? ", " + std::to_string(without) + " not registered" : "");
}

std::string amendments_text(const RunResult& run) {
  std::int64_t count = 0, loosened = 0;
  for (const ExperimentResult& one : run.experiments) {
    count += one.trust.amendments;
    loosened += one.trust.last_amendment == "loosening";
  }
  return std::to_string(count) +
         (loosened > 0 ? ", " + std::to_string(loosened) + " loosened last" : "");
}

// Of the experiment with the most attempts.
std::string attempts_text(const RunResult& run) {
  const Trust::Attempts* most = nullptr;
  std::string of;
  std::int64_t failed = 0;
  for (const ExperimentResult& one : run.experiments) {
    for (const auto& [device, attempts] : one.trust.attempts) {
      failed = std::max(failed, attempts.failed);
      if (most != nullptr && attempts.attempt <= most->attempt) continue;
      most = &attempts;
      of = one.id + " on " + device;
    }
  }
  if (most == nullptr) return "not counted: no journal";
  std::string text = "attempt " + std::to_string(most->attempt) + ", of which " +
                     std::to_string(most->failed) + " failed";
  if (most->abandoned > 0) text += " and " + std::to_string(most->abandoned) + " never ended";
  if (run.experiments.size() > 1 && most->attempt > 1) text += " (" + of + ", the most)";
  if (failed > most->failed) text += "; elsewhere up to " + std::to_string(failed) + " failed";
  return text;
}

std::string anchored_text(const RunResult& run) {
  std::int64_t yes = 0, no = 0, unknown = 0;
  for (const ExperimentResult& one : run.experiments) {
    ++(!one.trust.anchored ? unknown : *one.trust.anchored ? yes : no);
  }
  const auto total = std::ssize(run.experiments);
  if (total == 0) return "unknown";
  if (yes == total) return "anchored";
  std::string text =
      yes == 0 ? "not anchored" : std::to_string(yes) + " of " + std::to_string(total);
  if (unknown > 0)
    text = unknown == total ? "unknown" : text + ", " + std::to_string(unknown) + " unknown";
  return text;
}

std::string teeth_text(const RunResult& run) {
  std::map<std::string, std::int64_t> teeth;
  for (const ExperimentResult& one : run.experiments) ++teeth[one.trust.teeth];
  if (teeth.empty()) return "not shown";
  std::string text;
  for (const auto& [said, count] : teeth) {
    text += (text.empty() ? "" : ", ") + said;
    if (teeth.size() > 1) text += " (" + std::to_string(count) + ")";
  }
  return text;
}

std::string references_text(const RunResult& run) {
  std::string text;
  for (const std::string& name : references_of(run)) text += (text.empty() ? "" : ", ") + name;
  return text.empty() ? "none was used" : text;
}

Markup hash_markup(const std::string& hash) {
  if (hash.empty()) return "-";
  return "<code title=\"" + name_markup(hash) + "\">" + name_markup(hash.substr(0, 12)) + "</code>";
}

Markup yes_or_no(std::optional<bool> truth) {
  if (!truth) return "unknown";
  return *truth ? Markup("yes") : Markup("no");
}

std::string attempts_by_device(const Trust& trust) {
  std::string text;
  for (const auto& [device, of] : trust.attempts) {
    text += (text.empty() ? "" : "; ") + device + ": " + std::to_string(of.attempt) + ", " +
            std::to_string(of.failed) + " failed, " + std::to_string(of.abandoned) +
            " never ended" + (of.engines.empty() ? "" : " (" + of.engines + ")");
  }
  return text.empty() ? "not counted" : text;
}

std::string prior_text(const Trust& trust) {
  if (trust.registered_time.empty()) return "-";
  return trust.prior_results ? "seen before: " + trust.prior_source : "none";
}

Markup trust_row(const ExperimentResult& one) {
  const Trust& trust = one.trust;
  Markup row =
      "<tr><th scope=\"row\">" + experiment_link(one.id) + "</th><td>" + name_markup(trust.label);
  if (!trust.why.empty()) row += "<small>" + prose_markup(trust.why) + "</small>";
  row += "</td><td>" +
         name_markup(trust.registered_time.empty() ? "never" : trust.registered_time) +
         "</td><td>" + number_markup(trust.amendments);
  if (!trust.last_amendment.empty()) row += ", last " + name_markup(trust.last_amendment);
  return row + "</td><td>" + prose_markup(prior_text(trust)) + "</td><td>" +
         prose_markup(attempts_by_device(trust)) + "</td><td>" + name_markup(trust.teeth) +
         "</td><td>" + yes_or_no(trust.anchored) + "</td><td>" + hash_markup(one.spec_sha256) +
         "</td></tr>";
}

}  // namespace

Markup trust_section(const RunResult& run) {
  return section("trust", "Why believe it",
                 facts({{"label", prose_markup(labels_text(run))},
                        {"registered", prose_markup(registered_text(run))},
                        {"amendments", prose_markup(amendments_text(run))},
                        {"attempts", prose_markup(attempts_text(run))},
                        {"teeth", prose_markup(teeth_text(run))},
                        {"reference", prose_markup(references_text(run))},
                        {"ledger head", run.info.ledger_head ? hash_markup(*run.info.ledger_head)
                                                             : Markup("no ledger is kept")},
                        {"anchored", prose_markup(anchored_text(run))}}));
}

Markup trust_table(const RunResult& run) {
  Markup rows;
  for (const ExperimentResult& one : run.experiments) rows += trust_row(one);
  if (rows.empty()) return "";
  return "<details class=\"block\"><summary>Registration and attempts by experiment</summary><div "
         "class=\"scroll\" "
         "tabindex=\"0\"><table><thead><tr><th>experiment</th><th>label</th><th>registered</"
         "th><th>amendments</th><th>results "
         "before</th><th>attempts</th><th>teeth</th><th>anchored</th><th>spec</th></tr></"
         "thead><tbody>" +
         rows + "</tbody></table></div></details>\n";
}

}  // namespace octlm::verify::html
