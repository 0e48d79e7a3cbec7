#include "verify/ledger/audit.h"

#include <algorithm>
#include <map>
#include <set>

#include "formats/json_reader.h"
#include "verify/ledger/history.h"
#include "verify/ledger/registration.h"
#include "verify/ledger/standing.h"

namespace octlm::verify {
namespace {

namespace fs = std::filesystem;

void problem(std::vector<Finding>& findings, const std::string& where, const std::string& what) {
  findings.push_back({true, where, what});
}

void note(std::vector<Finding>& findings, const std::string& where, const std::string& what) {
  findings.push_back({false, where, what});
}

bool is_withdrawn(const Chain& chain) { return chain.back().entry == "withdraw"; }

std::string joined_fields(const Amendment& made) {
  std::set<std::string> fields;
  for (const Change& change : made.changes) fields.insert(change.field);
  std::string text;
  for (const std::string& field : fields) text += (text.empty() ? "" : ", ") + field;
  return text.empty() ? "order alone" : text;
}

void audit_spec(const Spec& spec, const Ledger& ledger, std::vector<Finding>& findings) {
  const std::string where = "experiments/registered/" + spec.file.filename().string();
  if (spec.file.stem() != spec.id) problem(findings, where, "holds " + spec.id);
  const LedgerLine* claim = claim_of(ledger.chain(spec.id));
  if (claim == nullptr) return note(findings, where, "is not registered");
  if (claim->fields["files"] != spec.file_sha256 && claim->fields["spec"] == spec.raw) {
    problem(findings, where,
            "a file that it names was edited after registration: " +
                joined_fields(changes_since(*claim, spec)));
  } else if (claim->fields["spec"] != spec.raw) {
    const Amendment made = changes_since(*claim, spec);
    problem(findings, where,
            "was edited after registration (" + made.class_name() + ": " + joined_fields(made) +
                "): amend it, or put it back");
  }
}

// Did the journal have results of what the line claims before the line was written?
const Attempt* result_before(const Journal& journal, const LedgerLine& line) {
  Spec spec;
  spec.id = line.experiment;
  const auto measures = line.fields.find("measures");
  if (measures != line.fields.end()) spec.measures = measures->get<std::vector<std::string>>();
  const Attempt* seen = journal.results_of(spec);
  // The ledger's times are whole seconds.
  const bool before = seen != nullptr && seen->time.substr(0, 19) < line.time.substr(0, 19);
  return before ? seen : nullptr;
}

void audit_prior_results(const Journal& journal, const Chain& chain,
                         std::vector<Finding>& findings) {
  for (std::size_t i = 0; i < chain.size(); ++i) {
    const LedgerLine& line = chain[i];
    const bool loosens = line.entry == "amend" && line.fields["class"] == "loosening";
    if (line.entry != "register" && !loosens) continue;
    if (results_known(std::span(chain).first(i + 1))) continue;
    const Attempt* seen = result_before(journal, line);
    if (seen == nullptr) continue;
    problem(findings, line.experiment,
            line.text() +
                (loosens ? " loosens the claim after results" : " was registered after results") +
                " of " + seen->time + " (" + seen->intent.experiment +
                ") that it does not mention");
  }
}

void audit_attempts(const Journal& journal, std::vector<Finding>& findings) {
  std::int64_t abandoned = 0;
  for (const Attempt& one : journal.attempts) {
    if (!one.result) {
      ++abandoned;
      continue;
    }
    const Attempt* failed = one.result->verdict == "pass" ? journal.failed_before(one) : nullptr;
    if (failed != nullptr) {
      problem(findings, one.intent.experiment,
              "a pass of " + one.time + " on " + one.intent.key.device + " after a fail of " +
                  failed->time + " with equal code and engines: that is no pass");
    }
  }
  if (abandoned > 0) {
    note(findings, "reports/journal.jsonl",
         std::to_string(abandoned) + " attempts never ended: crashes, kills, or still at work");
  }
}

void audit_labels(const Journal& journal, const Ledger& ledger, std::vector<Finding>& findings) {
  for (const Attempt& one : journal.attempts) {
    if (one.intent.entry.empty()) continue;
    if (chain_until(ledger.chain(one.intent.experiment), one.intent.entry).empty()) {
      problem(findings, one.intent.experiment,
              "the attempt of " + one.time +
                  " rests on a line of the ledger that is not there: " + one.intent.entry);
    }
  }
}

}  // namespace

bool Audit::clean() const {
  return std::none_of(findings.begin(), findings.end(),
                      [](const Finding& one) { return one.problem; });
}

void audit_specs(const Project& project, const Ledger& ledger,
                 const std::function<Spec(const fs::path&)>& read, std::vector<Finding>& findings) {
  std::vector<fs::path> files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(project.registered(), error)) {
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  std::set<std::string> present;
  for (const fs::path& file : files) {
    present.insert(file.stem().string());
    try {
      audit_spec(read(file), ledger, findings);
    } catch (const formats::FormatError& unreadable) {
      problem(findings, "experiments/registered/" + file.filename().string(), unreadable.what());
    }
  }
  for (const auto& [experiment, chain] : ledger.chains) {
    if (!present.contains(experiment) && !is_withdrawn(chain)) {
      problem(findings, experiment, "is registered, and its file is gone");
    }
  }
}

void audit_journal(const Journal& journal, const Ledger& ledger, std::vector<Finding>& findings) {
  for (const std::string& what : journal.problems) problem(findings, "reports/journal.jsonl", what);
  if (journal.torn_lines > 0) {
    note(findings, "reports/journal.jsonl",
         std::to_string(journal.torn_lines) + " lines were cut off by a kill");
  }
  for (const auto& [experiment, chain] : ledger.chains) {
    audit_prior_results(journal, chain, findings);
  }
  audit_attempts(journal, findings);
  audit_labels(journal, ledger, findings);
}

void audit_anchors(const Anchors& anchors, const Ledger& ledger, std::vector<Finding>& findings) {
  for (const auto& [experiment, chain] : ledger.chains) {
    const auto anchored = is_anchored(chain, anchors);
    if (anchored.value_or(false)) continue;
    note(findings, experiment,
         chain.back().text() + " is not anchored: no published report" +
             (anchored ? " or tag" : "") + " names it" +
             (anchored ? "" : ", and tags cannot be asked for here") +
             ", so a change at the end of its chain could not be seen");
  }
}

Audit audit(const Project& project, const std::function<Spec(const fs::path&)>& read) {
  Audit made;
  const Ledger ledger = read_ledger(project.ledger());
  const Journal journal = read_journal(project.journal());
  for (const std::string& what : ledger.problems) {
    problem(made.findings, project.ledger_file, what);
  }
  audit_specs(project, ledger, read, made.findings);
  audit_published(project, ledger, made.findings);
  audit_journal(journal, ledger, made.findings);
  const Anchors anchors = read_anchors(project);
  for (const std::string& what : lost_lines(project, ledger, anchors))
    problem(made.findings, project.ledger_file, what);
  audit_anchors(anchors, ledger, made.findings);
  std::stable_sort(made.findings.begin(), made.findings.end(),
                   [](const Finding& a, const Finding& b) { return a.problem && !b.problem; });
  made.claims = ledger.chains.size();
  made.attempts = journal.attempts.size();
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(project.published(), error)) {
    made.reports += entry.is_directory() && !entry.path().filename().string().starts_with(".");
  }
  return made;
}

}  // namespace octlm::verify
