// Makes a run part of the project's record: results.jsonl is copied to reports/published/<name>/,
// its pages are made there, and the ledger gets, for each of its experiments, a line with their digests and the verdict.
#pragma once

#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "verify/kind.h"
#include "verify/ledger/project.h"
#include "verify/program.h"

namespace octlm::verify {

// The files of a run that are published.
inline constexpr const char* kArtefacts[] = {"results.jsonl", "summary.md", "junit.xml",
                                             "report.html"};

// What a program brings to it.
struct Publisher {
  std::span<const Kind> kinds;  // to judge again
  const Program& program;
  // Writes the pages of a run's folder into another: kArtefacts, less results.jsonl.
  std::function<void(const std::filesystem::path& run, const std::filesystem::path& to)> render;
};

struct Publication {
  std::filesystem::path folder;
  std::vector<std::string> files;
};

// The folder's name is the run's. Refuses (std::invalid_argument) a run that cannot be believed
// (require_publishable) and one whose name is taken. The pages are made anew from results.jsonl:
// those that lie in the run's folder are ignored. Killed at any moment it can be run again: what it
// left in published/ is in no line of the ledger, and is replaced. When the ledger cannot be written,
// the copy is taken back.
Publication publish_run(const Project& project, const std::filesystem::path& run_folder,
                        const Publisher& by);

}  // namespace octlm::verify
