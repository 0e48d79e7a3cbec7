// Where a project keeps its claims and its results.
#pragma once

#include <filesystem>

namespace octlm::verify {

struct Project {
  std::filesystem::path root;

  std::filesystem::path registered() const { return root / "experiments" / "registered"; }
  std::filesystem::path ledger() const { return root / kLedger; }
  std::filesystem::path reports() const { return root / "reports"; }
  std::filesystem::path journal() const { return reports() / "journal.jsonl"; }
  std::filesystem::path published() const { return reports() / "published"; }

  static constexpr const char* kLedger = "experiments/ledger.jsonl";
};

}  // namespace octlm::verify
