// The spot that came nearest to its bound and held: shown even when all is green.
#include <cmath>

#include "verify/lenient_json.h"
#include "verify/report/html_sections.h"
#include "verify/report/markup.h"
#include "verify/report/text.h"

namespace octlm::verify::html {
namespace {

using Json = nlohmann::json;

Markup or_not_recorded(std::optional<std::int64_t> number) {
  return number ? number_markup(*number) : Markup("not recorded");
}

Markup top5_table(const Program& program, const Markup& title, const Json& list,
                  const Json& other) {
  const char* const field = program.column_field.c_str();
  Markup text = "<table class=\"numbers\"><caption>" + title + "</caption><thead><tr><th>" +
                for_markup(program.column) + "</th><th>value</th></tr></thead><tbody>";
  std::size_t shown = 0;
  for (const Json& entry : list) {
    if (++shown > 5) break;
    const auto column = integer_of(member(entry, field));
    bool in_both = false;
    for (const Json& one : other) in_both |= column && integer_of(member(one, field)) == column;
    text += in_both ? Markup("<tr><td>") : Markup("<tr class=\"alone\"><td>");
    text += column_markup(program, entry);
    if (!in_both) text += " <small>not on the other side</small>";
    text += "</td><td class=\"n\">" + exact_markup(member(entry, "value")) + "</td></tr>";
  }
  return text + "</tbody></table>";
}

}  // namespace

Markup exact_markup(const Json& json) {
  const auto number = number_of(json);
  if (!number) return "not recorded";
  if (!std::isfinite(*number)) return for_markup(number_text(*number));
  char text[40];
  std::snprintf(text, sizeof text, "%.9g", *number);
  return for_markup(text);
}

Markup column_markup(const Program& program, const Json& place) {
  const auto column = integer_of(member(place, program.column_field.c_str()));
  const std::string text = string_of(member(place, "text"));
  Markup markup = for_markup(program.column) + " " + or_not_recorded(column);
  if (!text.empty()) markup += " <q><bdi>" + name_markup(text) + "</bdi></q>";
  return markup;
}

// What the text up to that position ends with.
Markup context_markup(const Json& place) {
  const std::string text = string_of(member(place, "context"));
  return text.empty() ? Markup("not recorded") : "<q><bdi>…" + name_markup(text) + "</bdi></q>";
}

Markup top5_tables(const Program& program, const ComparisonResult& comparison) {
  const Measurement* measured = comparison.measurement();
  if (!measured) return "";
  const Json& worst = member(measured->record, "worst");
  const Json& subject = member(worst, "subject_top5");
  const Json& reference = member(worst, "reference_top5");
  if (!subject.is_array() && !reference.is_array()) return "";
  return "<div class=\"pair\">" + top5_table(program, "subject", subject, reference) +
         top5_table(program, "reference", reference, subject) + "</div>";
}

Markup place_facts(const Program& program, const ComparisonResult& comparison) {
  const Measurement* measured = comparison.measurement();
  const Json& worst = measured ? member(measured->record, "worst") : member(Json(), "");
  if (!worst.is_object()) return "";
  const auto position = integer_of(member(worst, "position"));
  const auto ulps = integer_of(member(worst, "ulps"));
  std::vector<std::pair<std::string, Markup>> entries = {
      {"position", or_not_recorded(position)}, {program.column, column_markup(program, worst)}};
  if (!program.context.empty()) entries.push_back({program.context, context_markup(worst)});
  entries.push_back({"subject", exact_markup(member(worst, "subject"))});
  entries.push_back({"reference", exact_markup(member(worst, "reference"))});
  entries.push_back({"ulps apart", ulps ? number_markup(*ulps) : Markup("none to count")});
  return facts(entries);
}

Markup tightest_section(const RunResult& run) {
  const auto spot = tightest_spot(run);
  if (!spot) {
    return section("tightest", "Tightest spot",
                   "<p class=\"legend\">No comparison held against a bound on a number.</p>");
  }
  CriterionResult here = *spot->criterion;  // with the value of this comparison
  const auto& metrics = spot->comparison->measurement()->metrics;
  if (const auto value = metrics.find(here.metric); value != metrics.end())
    here.value = value->second;
  here.holds = true;
  Markup text = "<p>" + experiment_link(spot->experiment->id) + ", <bdi>" +
                name_markup(key_text(spot->comparison->key)) +
                "</bdi>: " + name_markup(here.metric) + " " + for_markup(criterion_text(here)) +
                ", <b>" + for_markup(share_text(spot->used)) + "</b> of the bound used.</p>" +
                place_facts(run.info.program, *spot->comparison);
  const Markup lists = top5_tables(run.info.program, *spot->comparison);
  text += lists.empty()
              ? Markup("<p class=\"legend\">Place and top 5: not recorded by this kind.</p>")
              : "<details><summary>top 5 of both sides there</summary>" + lists + "</details>";
  return section("tightest", "Tightest spot", text);
}

}  // namespace octlm::verify::html
