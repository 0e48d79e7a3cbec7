// report.html: one self-contained page that works offline, without scripts, and asks for nothing
// from anywhere. Its first screen is in the order of docs/results.md; the details are below.
#pragma once

#include <optional>
#include <string>

#include "verify/report/run_difference.h"
#include "verify/result.h"

namespace octlm::verify {

struct PublishedRun {
  std::string name;          // of its folder under reports/published
  RunDifference difference;  // from it to this run
};

struct ReportContext {
  std::optional<PublishedRun> published;  // the last one before this run
  bool torn = false;                      // results.jsonl ended in the middle of a line
};

std::string html_report(const RunResult& run, const ReportContext& context);

}  // namespace octlm::verify
