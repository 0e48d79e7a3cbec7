#include "verify/ledger/publish.h"

#include <fcntl.h>
#include <unistd.h>

#include <optional>
#include <set>
#include <stdexcept>

#include "formats/error.h"
#include "formats/folder_lock.h"
#include "formats/output_file.h"
#include "formats/sha256.h"
#include "verify/ledger/anchors.h"
#include "verify/ledger/history.h"
#include "verify/ledger/journal.h"
#include "verify/ledger/ledger.h"
#include "verify/ledger/locked_append.h"
#include "verify/ledger/publishable.h"
#include "verify/lines.h"
#include "verify/provenance.h"
#include "verify/read_back.h"
#include "verify/run_file.h"

namespace octlm::verify {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

[[noreturn]] void refuse(const std::string& what) { throw std::invalid_argument(what); }

Json intents_of(const ExperimentResult& experiment) {
  Json intents = Json::object();
  for (const auto& [device, attempts] : experiment.trust.attempts)
    intents[device] = attempts.intent;
  return intents;
}

// What each device's attempt was with; without those that never got so far.
Json engines_of(const ExperimentResult& experiment, const Journal& journal) {
  Json engines = Json::object();
  for (const auto& [device, attempts] : experiment.trust.attempts) {
    const std::string& sha256 = journal.find(attempts.intent)->intent.key.engines_sha256;
    if (!sha256.empty()) engines[device] = sha256;
  }
  return engines;
}

// What the run showed of it, resumed attempts included.
Json measures_of(const ExperimentResult& experiment, const Journal& journal,
                 const std::string& run) {
  std::set<std::string> measures;
  for (const Attempt& one : journal.attempts) {
    if (one.intent.run != run || one.intent.experiment != experiment.id) continue;
    for (const Finished& comparison : one.finished)
      measures.insert(comparison.measures.begin(), comparison.measures.end());
  }
  return measures;
}

// REQUIRES: the run is publishable.
std::string publication_line(const ExperimentResult& experiment, const Ledger& ledger,
                             const Journal& journal, Json fields) {
  const Json line = experiment_line(experiment);
  for (const char* name : {"verdict", "devices", "label", "spec_sha256"})
    fields[name] = line.at(name);
  fields["entry_sha256"] = experiment.trust.entry;
  fields["intents"] = intents_of(experiment);
  fields["engines"] = engines_of(experiment, journal);
  fields["measures"] = measures_of(experiment, journal, fields["run"]);
  return ledger_line(ledger.chain(experiment.id), experiment.id, "publish", fields);
}

void sync(const fs::path& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return;
  ::fsync(descriptor);
  ::close(descriptor);
}

// Removes what it wrote unless it was kept, also when copying fails half-way (a full disk): so the
// copying is no part of the constructor.
class Copy {
 public:
  explicit Copy(fs::path to)
      : to_(std::move(to)),
        partial_(to_.parent_path() / ("." + to_.filename().string() + ".partial")) {}
  // REQUIRES: `results` is what the run's results.jsonl holds.
  void make(const fs::path& run, const std::string& results, const Publisher& by) {
    fs::create_directories(to_.parent_path());
    fs::remove_all(partial_);
    fs::create_directory(partial_);
    formats::replace_file(partial_ / "results.jsonl", results);
    by.render(run, partial_);
    for (const char* name : kArtefacts) {
      sync(partial_ / name);
      digests[name] = formats::sha256_file(partial_ / name);
    }
    if (formats::read_file(run / "results.jsonl") != results)
      refuse(run.string() + ": results.jsonl changed while it was published");
  }
  ~Copy() {
    std::error_code ignored;
    fs::remove_all(partial_, ignored);
    if (!kept_ && placed_) fs::remove_all(to_, ignored);
  }
  Copy(const Copy&) = delete;
  Copy& operator=(const Copy&) = delete;

  // In place of what a killed one left there.
  void place() {
    fs::remove_all(to_);
    fs::rename(partial_, to_);
    placed_ = true;
    sync(to_.parent_path());
  }
  void keep() { kept_ = true; }

  Json digests = Json::object();

 private:
  fs::path to_, partial_;
  bool placed_ = false, kept_ = false;
};

// The lines to append, one for each experiment of the run.
std::string publication_lines(const RunResult& run, const Ledger& ledger, const Journal& journal,
                              const Json& fields) {
  std::string lines;
  for (const ExperimentResult& experiment : run.experiments)
    lines += publication_line(experiment, ledger, journal, fields);
  return lines;
}

bool is_named(const Ledger& ledger, const std::string& run) {
  for (const auto& [experiment, chain] : ledger.chains) {
    for (const LedgerLine& line : chain) {
      if (line.entry == "publish" && line.fields["run"] == run) return true;
    }
  }
  return false;
}

// A folder that no line of the ledger names was left by one that was killed, if it holds this run.
void require_free(const fs::path& to, const Ledger& ledger, const std::string& results) {
  if (is_named(ledger, to.filename().string()))
    refuse(to.string() + ": a run of this name is published already");
  if (!fs::exists(to)) return;
  std::error_code error;
  const bool left = fs::is_regular_file(to / "results.jsonl", error) &&
                    formats::read_file(to / "results.jsonl") == results;
  if (!left) refuse(to.string() + " exists, and the ledger does not name it: move it away");
}

}  // namespace

Publication publish_run(const Project& project, const fs::path& run_folder, const Publisher& by) {
  std::error_code error;
  const fs::path folder = fs::canonical(run_folder, error);
  if (error) refuse(run_folder.string() + ": " + error.message());
  std::optional<formats::FolderLock> alone;  // nobody goes on with it meanwhile; where nobody can
  if (::access(folder.c_str(), W_OK) == 0) alone.emplace(folder);  // write, nobody does
  const RunFile file = read_run_file(folder);
  const std::string results = formats::read_file(folder / "results.jsonl");
  const fs::path to = project.published() / folder.filename();
  const Journal journal = read_journal(project.journal());
  require_valid(journal, project.journal().string());
  const std::string commit = checkout_state(project.root).commit;
  require_whole(project, read_ledger(project.ledger()), read_anchors(project));
  std::optional<Copy> copy;
  locked_append(project.ledger(), [&](std::string_view text) {
    const Ledger ledger = parse_ledger(text);
    require_valid(ledger, project.ledger().string());
    require_free(to, ledger, results);
    RunResult run;
    try {
      require_publishable({file, ledger, journal, project, by.kinds, by.program});
      run = read_back(file, by.program);
    } catch (const Json::exception& wrong) {
      refuse(folder.string() + ": results.jsonl is not as a run writes it: " + wrong.what());
    }
    copy.emplace(to).make(folder, results, by);
    std::string lines = publication_lines(run, ledger, journal,
                                          {{"artefacts", copy->digests},
                                           {"commit", commit},
                                           {"run", folder.filename().string()},
                                           {"code_sha256", run.info.code_sha256}});
    copy->place();
    return lines;
  });
  copy->keep();
  Publication published{to, {}};
  for (const auto& [name, digest] : copy->digests.items()) published.files.push_back(name);
  return published;
}

}  // namespace octlm::verify
