// What a run owes to the ledger and the journal: the label of each experiment, the intent before
// its first number, the result after its last.
#pragma once

#include <filesystem>
#include <optional>
#include <set>
#include <string>

#include "verify/ledger/anchors.h"
#include "verify/ledger/journal.h"
#include "verify/ledger/ledger.h"
#include "verify/ledger/project.h"
#include "verify/result.h"
#include "verify/spec.h"

namespace octlm::verify {

class AttemptLog {
 public:
  // Without a project nothing is kept and everything is unregistered. Reads the ledger once: a
  // run's labels are those of its beginning. Throws LedgerInvalid.
  explicit AttemptLog(std::optional<Project> project);

  std::optional<std::string> ledger_head() const;
  Trust trust(const Spec& spec) const;

  // For the attempts of this run.
  void start_run(const std::filesystem::path& folder, const std::string& code_sha256);

  // Writes the intent; when an attempt of this run folder stands there, this one resumes it.
  void begin(const Spec& spec, const std::string& device, Trust& trust);
  // What the attempt is with is ready, and known from here on.
  void ready(const std::string& device, const nlohmann::json& identity, Trust& trust);
  // A comparison is finished; before the record says so.
  void finished(const Finished& comparison, const Trust& trust);
  // What the journal has of that run's comparisons, by sha256. Throws LedgerInvalid when the
  // journal was edited.
  std::set<std::string> finished_in(const std::filesystem::path& folder) const;
  // Takes up the attempt of this run folder as it stands: nothing more will be measured.
  void take_up(const Spec& spec, const std::string& device, Trust& trust);
  // Counts again: another run may have ended meanwhile.
  void recount(Trust& trust) const;
  // Writes the result of every device that has none, and counts.
  void end(const Judgement& judgement, Trust& trust);

 private:
  std::optional<Project> project_;
  Ledger ledger_;
  Anchors anchors_;
  std::string run_, code_sha256_;
};

}  // namespace octlm::verify
