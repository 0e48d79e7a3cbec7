// The parts of report.html, in the order in which they stand on the page. Each returns markup in
// which every text from outside is escaped; "" when it has nothing to say.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "verify/report/facts.h"
#include "verify/report/html.h"
#include "verify/result.h"

namespace octlm::verify::html {

extern const char* const kStyle;

// The first screen, top to bottom.

struct Sentence {
  std::string verdict;      // plain text: "octlm 1a2b (cpu) matches ... in 60 of 60 comparisons."
  std::string not_checked;  // plain text: "cuda, 16 bits, beyond 200 tokens"
};
Sentence sentence(const RunResult& run);
std::string headline_section(const RunResult& run, const ReportContext& context);
std::string coverage_section(const RunResult& run);
std::string rulers_section(const RunResult& run);
std::string failure_section(const RunResult& run);  // in place of the rulers, when red
std::string tightest_section(const RunResult& run);
std::string trust_section(const RunResult& run);
std::string changes_section(const ReportContext& context);
std::string command_section(const RunResult& run);

// The details.

std::string not_checked_section(const RunResult& run);
std::string experiments_section(const RunResult& run);
std::string trust_table(const RunResult& run);
std::string environment_section(const RunResult& run);

// What they share.

bool is_red(const RunResult& run);  // a fail, an error, or no end

// "✓ pass": the symbol and the word, in the colour of the verdict. Not by colour alone.
std::string badge(const char* style, const char* symbol, const std::string& text);
std::string verdict_badge(const RunResult& run, const ExperimentResult& experiment,
                          Verdict verdict);

std::string section(const char* id, const char* title, const std::string& content);
// A list of values "key, value", the value being markup.
std::string facts(const std::vector<std::pair<std::string, std::string>>& entries);
// Both top-5 lists of a comparison's `worst`, side by side; "" when it has none.
std::string top5_tables(const ComparisonResult& comparison);
// The first differences of a comparison of text (`differences` in docs/results.md).
bool has_differences(const ComparisonResult& comparison);
std::string differences_markup(const ComparisonResult& comparison);
// "position 12, token 345 "text": subject 1.5, reference 1.6, ulps 12", as facts.
std::string place_facts(const ExperimentResult& experiment, const ComparisonResult& comparison);

}  // namespace octlm::verify::html
