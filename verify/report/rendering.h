// A run's folder rendered: summary.md, junit.xml and report.html, all from its results.jsonl. At
// the end of a run and by `octlm report`, the same way.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "formats/error.h"
#include "verify/ledger/project.h"
#include "verify/report/report.h"

namespace octlm::verify {

// What was written, and from what.
struct Rendered {
  std::vector<std::string> files;  // names in the folder
  RunResult run;
  bool torn = false;  // the last line was cut off, and is left out
};

// Writes into `to`. `project`: where published runs stand, for what changed since the last of them.
// Throws formats::FormatError when `folder` is no run, std::runtime_error when a file cannot be
// written.
Rendered render_run(const std::filesystem::path& folder, const std::filesystem::path& to,
                    const std::optional<Project>& project);

// The files that render_run writes.
inline constexpr const char* kRenderings[] = {"summary.md", "junit.xml", "report.html"};

// Is the folder a published run, whose files the ledger names by digest?
bool is_published(const std::filesystem::path& folder, const Project& project);

// Renders the run's folder when the run ends. REQUIRES that results.jsonl is whole by then.
class RenderedReports : public Report {
 public:
  explicit RenderedReports(std::optional<Project> project) : project_(std::move(project)) {}
  void run_finished(const RunResult& run) override;

 private:
  std::optional<Project> project_;
};

}  // namespace octlm::verify
