// reports/index.html: every run of a folder of reports on one page, so that it can be seen how a
// verdict and the share of its bound went over time. Made from the runs' results.jsonl alone.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "verify/report/facts.h"
#include "verify/result.h"

namespace octlm::verify {

// One run of the folder, or what is wrong with it.
struct IndexedRun {
  std::string link;   // from the index to its page: "20260131T120000Z-1/report.html"; not escaped
  std::string name;   // of its folder: "published/20260131T120000Z-1"
  std::string fault;  // why it cannot be read; then nothing below is there
  std::string started, verdict, not_checked;  // the page's own words
  bool ended = true;
  int exit_code = 0;

  struct Experiment {
    std::string id, title, engine;  // the subject's name and version
    Verdict verdict = Verdict::kNotRun;
    bool counts = true;          // as a pass of the suite
    std::string label;           // of what does not count
    std::optional<double> used;  // the largest share of a bound
  };
  std::vector<Experiment> experiments;
};

// The runs in `reports` and in its folder of published ones, the oldest first, those that cannot be
// read last. A link such as `latest` is no further run. Throws std::runtime_error when `reports` is
// no folder.
std::vector<IndexedRun> indexed_runs(const std::filesystem::path& reports, const Program& program);

std::string index_page(const std::vector<IndexedRun>& runs, const Program& program);

}  // namespace octlm::verify
