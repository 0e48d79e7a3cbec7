// The parts of report.html, in the order in which they stand on the page. Each is empty when it has
// nothing to say.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "verify/report/facts.h"
#include "verify/report/html.h"
#include "verify/report/markup.h"
#include "verify/result.h"

namespace octlm::verify::html {

Markup style();

// The first screen, top to bottom.

struct Sentence {
  std::string verdict;      // plain text: "sums 1a2b (host) matches ... in 60 of 60 comparisons."
  std::string not_checked;  // plain text: "device, half precision, beyond 200 positions"
};
Sentence sentence(const RunResult& run);
Markup headline_section(const RunResult& run, const ReportContext& context);
Markup coverage_section(const RunResult& run);
Markup rulers_section(const RunResult& run);
Markup failure_section(const RunResult& run);  // in place of the rulers, when red
Markup tightest_section(const RunResult& run);
Markup trust_section(const RunResult& run);
Markup changes_section(const ReportContext& context);
Markup command_section(const RunResult& run);

// The details.

Markup not_checked_section(const RunResult& run);
Markup experiments_section(const RunResult& run);
Markup trust_table(const RunResult& run);
Markup environment_section(const RunResult& run);

// What they share.

bool is_red(const RunResult& run);  // a fail, an error, or no end

// "✓ pass": the symbol and the word, in the colour of the verdict. Not by colour alone.
Markup badge(const Markup& style, const Markup& symbol, const std::string& text);
Markup verdict_badge(const RunResult& run, const ExperimentResult& experiment, Verdict verdict);

Markup section(const Markup& id, const Markup& title, const Markup& content);
// A list of values "key, value".
Markup facts(const std::vector<std::pair<std::string, Markup>>& entries);
// Where an experiment's details stand on the page: "EXP-102". No section has such a name.
std::string anchor_of(const std::string& id);
Markup experiment_link(const std::string& id);
Markup experiment_link(const std::string& id, const Markup& shown);
// Both top-5 lists of a comparison's `worst`, side by side; "" when it has none.
Markup top5_tables(const Program& program, const ComparisonResult& comparison);
// The first differences of a comparison of text (`differences` in docs/results.md).
bool has_differences(const ComparisonResult& comparison);
Markup differences_markup(const Program& program, const ComparisonResult& comparison);
// "position 12, column 345 "text": subject 1.5, reference 1.6, ulps 12", as facts.
Markup place_facts(const Program& program, const ComparisonResult& comparison);
// A place's column and its text, the text before it, and a value in the nine digits that tell two
// float32 values apart.
Markup column_markup(const Program& program, const nlohmann::json& place);
Markup context_markup(const nlohmann::json& place);
Markup exact_markup(const nlohmann::json& number);
// The error by position of an experiment's comparisons, drawn, and its histogram; "" when no record
// has it.
Markup error_charts(const RunResult& run, const ExperimentResult& experiment);

}  // namespace octlm::verify::html
