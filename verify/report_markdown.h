// summary.md: a page that fits a CI step summary. What was not checked stands before what was.
#pragma once

#include <filesystem>
#include <string>

#include "verify/report.h"

namespace octlm::verify {

std::string markdown_summary(const RunResult& run);

class MarkdownReport : public Report {
 public:
  explicit MarkdownReport(std::filesystem::path file) : file_(std::move(file)) {}
  // Throws std::runtime_error when the file cannot be written whole.
  void run_finished(const RunResult& run) override;

 private:
  std::filesystem::path file_;
};

}  // namespace octlm::verify
