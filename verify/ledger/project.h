// Where a project keeps its claims and its results. The places are the project's to choose.
#pragma once

#include <filesystem>
#include <string>

namespace octlm::verify {

struct Project {
  std::filesystem::path root;
  // From the root.
  std::string specs_folder = "experiments/registered";
  std::string ledger_file = "experiments/ledger.jsonl";
  std::string reports_folder = "reports";

  std::filesystem::path registered() const { return root / specs_folder; }
  std::filesystem::path ledger() const { return root / ledger_file; }
  std::filesystem::path reports() const { return root / reports_folder; }
  std::filesystem::path journal() const { return reports() / "journal.jsonl"; }
  std::filesystem::path published() const { return reports() / "published"; }
};

}  // namespace octlm::verify
