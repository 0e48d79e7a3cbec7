#include "verify/report/index.h"

#include <algorithm>

#include "formats/error.h"
#include "verify/read_back.h"
#include "verify/report/html_sections.h"
#include "verify/run_file.h"

namespace octlm::verify {
namespace {

namespace fs = std::filesystem;

IndexedRun::Experiment experiment_of(const RunResult& run, const ExperimentResult& experiment) {
  IndexedRun::Experiment made{.id = experiment.id,
                              .title = experiment.title,
                              .engine = {},
                              .verdict = experiment.judgement.verdict,
                              .counts = counts(run, experiment),
                              .label = experiment.trust.label,
                              .used = {}};
  for (const std::string& name : subjects_of(experiment)) {
    made.engine += (made.engine.empty() ? "" : ", ") + name;
  }
  for (const CriterionResult& one : experiment.judgement.criteria) {
    if (one.bound == Criterion::Bound::kAtMost && one.used)
      made.used = std::max(made.used, one.used);
  }
  return made;
}

IndexedRun read(const fs::path& folder, const std::string& name, const Program& program) {
  IndexedRun indexed;
  indexed.name = name;
  std::error_code error;
  const bool page = fs::is_regular_file(folder / "report.html", error);
  indexed.link = name + (page ? "/report.html" : "/results.jsonl");
  try {
    const RunResult run = read_back(read_run_file(folder), program);
    indexed.started = run.info.started;
    const html::Sentence said = html::sentence(run);
    indexed.verdict = said.verdict;
    indexed.not_checked = said.not_checked;
    indexed.ended = run.ended;
    indexed.exit_code = run.summary.exit_code;
    for (const ExperimentResult& one : run.experiments) {
      indexed.experiments.push_back(experiment_of(run, one));
    }
  } catch (const std::exception& failure) {  // one damaged run hides none of the others
    indexed.fault = failure.what();
  }
  return indexed;
}

void add_folders(const fs::path& within, const std::string& prefix, const std::string& but,
                 const Program& program, std::vector<IndexedRun>& runs) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(within, error)) {
    const std::string name = entry.path().filename().string();
    if (entry.is_symlink(error) || !entry.is_directory(error) || name == but) continue;
    runs.push_back(read(entry.path(), prefix + name, program));
  }
}

}  // namespace

std::vector<IndexedRun> indexed_runs(const fs::path& reports, const Program& program) {
  constexpr const char* kPublished = "published";
  if (!fs::is_directory(reports)) {
    throw std::runtime_error(reports.string() + ": is no folder; runs are written to reports/");
  }
  std::vector<IndexedRun> runs;
  add_folders(reports, "", kPublished, program, runs);
  add_folders(reports / kPublished, std::string(kPublished) + "/", "", program, runs);
  std::ranges::sort(runs, {}, [](const IndexedRun& one) {
    return std::make_tuple(!one.fault.empty(), one.started, one.name);
  });
  return runs;
}

}  // namespace octlm::verify
