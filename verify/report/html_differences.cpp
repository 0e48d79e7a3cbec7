// The first difference of each metric of a comparison of lists or texts: both lists, one above the
// other, or both texts.
#include <algorithm>

#include "verify/lenient_json.h"
#include "verify/report/html_sections.h"
#include "verify/report/markup.h"

namespace octlm::verify::html {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMetrics = 6, kEntries = 12;

Markup quoted(const Json& text) { return "<q><bdi>" + name_markup(string_of(text)) + "</bdi></q>"; }

// The entry of a list that stands at a position of the whole list.
const Json& at(const Json& list, std::int64_t position) {
  static const Json kNone;
  for (const Json& one : list) {
    if (integer_of(member(one, "position")) == position) return one;
  }
  return kNone;
}

Markup entry_cell(const Program& program, const Json& entry, bool differs) {
  const auto column = integer_of(member(entry, program.column_field.c_str()));
  if (!column) return "<td class=\"quiet\">none</td>";
  return (differs ? Markup("<td class=\"apart\">") : Markup("<td>")) + number_markup(*column) +
         "<small>" + quoted(member(entry, program.column_text_field.c_str())) + "</small></td>";
}

// "Columns"
std::string plural_title(std::string noun) {
  if (!noun.empty() && noun[0] >= 'a' && noun[0] <= 'z') noun[0] += 'A' - 'a';
  return noun + "s";
}

Markup lists_table(const Program& program, const Json& subject, const Json& reference) {
  std::vector<std::int64_t> positions;
  for (const Json* list : {&subject, &reference}) {
    for (const Json& entry : *list) {
      const auto position = integer_of(member(entry, "position"));
      if (position) positions.push_back(*position);
    }
  }
  std::ranges::sort(positions);
  positions.erase(std::ranges::unique(positions).begin(), positions.end());
  if (positions.size() > kEntries) positions.resize(kEntries);
  Markup head = "<tr><th scope=\"row\">position</th>", ours, theirs;
  for (const std::int64_t position : positions) {
    const Json &a = at(subject, position), &b = at(reference, position);
    const char* const field = program.column_field.c_str();
    const bool differs = member(a, field) != member(b, field);
    head += "<th scope=\"col\">" + number_markup(position) + "</th>";
    ours += entry_cell(program, a, differs);
    theirs += entry_cell(program, b, differs);
  }
  return "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"" +
         for_markup(plural_title(program.column)) + "\"><table class=\"lists\"><thead>" + head +
         "</tr></thead><tbody><tr><th scope=\"row\">subject</th>" + ours +
         "</tr><tr><th scope=\"row\">expected</th>" + theirs + "</tr></tbody></table></div>";
}

// A text, or whatever else the kind wrote: "[3,5]".
Markup value_markup(const Json& value) {
  if (value.is_null()) return "none";
  if (value.is_string()) return quoted(value);
  return name_markup(value.dump(-1, ' ', true, Json::error_handler_t::replace));
}

Markup difference_markup(const Program& program, const std::string& metric,
                         const Json& difference) {
  const Json &subject = member(difference, "subject"), &reference = member(difference, "reference");
  std::vector<std::pair<std::string, Markup>> entries;
  const Json& given = member(difference, "given");
  if (given.is_string()) entries.push_back({"given", quoted(given)});
  const std::string against = string_of(member(difference, "against"));
  if (!against.empty()) entries.push_back({"held against", name_markup(against)});
  for (const char* side : {"subject_refuses", "reference_refuses"}) {
    const std::string why = string_of(member(difference, side));
    if (difference.contains(side)) {
      entries.push_back({side == std::string("subject_refuses") ? "the subject" : "the reference",
                         why.empty() ? Markup("answers") : "refuses: " + prose_markup(why)});
    }
  }
  Markup table;
  const bool lists = subject.is_array() && !subject.empty() && subject.front().is_object();
  if (lists) {
    table = lists_table(program, subject, reference);
  } else if (difference.contains("subject")) {
    entries.push_back({"subject", value_markup(subject)});
    entries.push_back({"expected", value_markup(reference)});
  }
  return "<h4>" + name_markup(metric) + "</h4>" + facts(entries) + table;
}

}  // namespace

bool has_differences(const ComparisonResult& comparison) {
  const Measurement* measured = comparison.measurement();
  return measured && member(measured->record, "differences").is_object();
}

Markup differences_markup(const Program& program, const ComparisonResult& comparison) {
  if (!has_differences(comparison)) return "";
  Markup text;
  std::size_t shown = 0;
  for (const auto& [metric, difference] :
       comparison.measurement()->record.at("differences").items()) {
    if (++shown > kMetrics) break;
    if (difference.is_object()) text += difference_markup(program, metric, difference);
  }
  return text;
}

}  // namespace octlm::verify::html
