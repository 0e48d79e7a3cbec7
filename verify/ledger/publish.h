// Makes a run part of the project's record: its files are copied to reports/published/<name>/, and
// the ledger gets, for each of its experiments, a line with their digests and the verdict.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "verify/ledger/project.h"

namespace octlm::verify {

// The files of a run that are published.
inline constexpr const char* kArtefacts[] = {"results.jsonl", "summary.md", "junit.xml",
                                             "report.html"};

struct Publication {
  std::filesystem::path folder;
  std::vector<std::string> files;
};

// The folder's name is the run's. Refuses (std::invalid_argument) a run that did not end, one whose
// name is taken, and one with an experiment that the ledger does not have as the run says, or whose
// intent the journal does not have. When the ledger cannot be written, the copy is taken back.
Publication publish_run(const Project& project, const std::filesystem::path& run_folder);

}  // namespace octlm::verify
