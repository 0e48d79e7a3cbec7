// Does everything that is kept still fit together: the ledger in itself, the specs, the published
// reports, and this checkout's journal against it?
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "formats/error.h"
#include "verify/ledger/anchors.h"
#include "verify/ledger/journal.h"
#include "verify/ledger/ledger.h"
#include "verify/ledger/project.h"
#include "verify/spec.h"

namespace octlm::verify {

struct Finding {
  bool problem = false;  // false: worth knowing, or what cannot be known
  std::string where;     // "experiments/ledger.jsonl", "EXP-101", "reports/published/x"
  std::string what;
  std::string text() const { return where + ": " + what; }
};

struct Audit {
  std::vector<Finding> findings;  // problems first
  std::size_t claims = 0;         // experiments in the ledger
  std::size_t reports = 0;        // published
  std::size_t attempts = 0;       // in the journal
  bool clean() const;             // no problem
};

// `read` is read_spec with the program's kinds; a formats::FormatError from it is a finding.
Audit audit(const Project& project, const std::function<Spec(const std::filesystem::path&)>& read);

// Its parts, each of which appends what it finds.
void audit_specs(const Project& project, const Ledger& ledger,
                 const std::function<Spec(const std::filesystem::path&)>& read,
                 std::vector<Finding>& findings);
void audit_published(const Project& project, const Ledger& ledger, std::vector<Finding>& findings);
void audit_journal(const Journal& journal, const Ledger& ledger, std::vector<Finding>& findings);
void audit_anchors(const Anchors& anchors, const Ledger& ledger, std::vector<Finding>& findings);

}  // namespace octlm::verify
