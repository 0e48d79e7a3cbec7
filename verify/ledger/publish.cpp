#include "verify/ledger/publish.h"

#include <fcntl.h>
#include <unistd.h>

#include <optional>
#include <stdexcept>

#include "formats/folder_lock.h"
#include "formats/sha256.h"
#include "verify/ledger/journal.h"
#include "verify/ledger/ledger.h"
#include "verify/ledger/locked_append.h"
#include "verify/ledger/standing.h"
#include "verify/provenance.h"
#include "verify/run_file.h"

namespace octlm::verify {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

[[noreturn]] void refuse(const std::string& what) { throw std::invalid_argument(what); }

// Each device's intent; refuses what the journal does not have.
Json intents_of(const Json& experiment, const Journal& journal) {
  Json intents = Json::object();
  const std::string id = experiment.at("id");
  for (const auto& [device, attempts] : experiment.at("trust").at("attempts").items()) {
    const std::string intent = attempts.at("intent");
    const Attempt* attempt = journal.find(intent);
    if (attempt == nullptr || !attempt->result) {
      refuse(id + " on " + device + ": the journal has no finished attempt with intent " + intent);
    }
    if (attempt->result->verdict != experiment.at("devices").at(device)) {
      refuse(id + " on " + device + ": the journal has another verdict, " +
             attempt->result->verdict);
    }
    intents[device] = intent;
  }
  if (intents.empty()) refuse(id + ": was run without a journal");
  return intents;
}

// What each device's attempt was with; without those that never got so far.
Json engines_of(const Json& intents, const Journal& journal) {
  Json engines = Json::object();
  for (const auto& [device, intent] : intents.items()) {
    const std::string sha256 = journal.find(intent.get<std::string>())->intent.key.engines_sha256;
    if (!sha256.empty()) engines[device] = sha256;
  }
  return engines;
}

std::string publication_line(const Json& experiment, const Ledger& ledger, Json fields,
                             const Journal& journal) {
  const std::string id = experiment.at("id");
  const std::string label = experiment.at("label");
  const std::string spec_sha256 = experiment.at("spec_sha256");
  const std::string entry = experiment.at("trust").at("entry");
  const Chain& chain = ledger.chain(id);
  const auto then = chain_until(chain, entry);
  if (then.empty()) refuse(id + " is " + label + ": only what is in the ledger can be published");
  if (const std::string now = recorded_label(then, experiment); now != label) {
    refuse(id + " is " + now + " by the ledger, and " + label + " by the run");
  }
  fields["verdict"] = experiment.at("verdict");
  fields["devices"] = experiment.at("devices");
  fields["label"] = label;
  fields["spec_sha256"] = spec_sha256;
  fields["entry_sha256"] = entry;
  fields["intents"] = intents_of(experiment, journal);
  fields["engines"] = engines_of(fields["intents"], journal);
  return ledger_line(chain, id, "publish", fields);
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
  void copy_from(const fs::path& from) {
    fs::create_directories(to_.parent_path());
    fs::remove_all(partial_);
    fs::create_directory(partial_);
    for (const char* name : kArtefacts) {
      if (!fs::exists(from / name)) continue;
      fs::copy_file(from / name, partial_ / name);
      sync(partial_ / name);
      digests[name] = formats::sha256_file(partial_ / name);
    }
  }
  ~Copy() {
    std::error_code ignored;
    fs::remove_all(partial_, ignored);
    if (!kept_ && placed_) fs::remove_all(to_, ignored);
  }
  Copy(const Copy&) = delete;
  Copy& operator=(const Copy&) = delete;

  void place() {
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

void require_finished(const RunFile& run) {
  const Json* summary = run.summary();
  if (summary == nullptr || summary->value("interrupted", false)) {
    refuse(run.folder.string() + ": this run did not end: resume it first");
  }
  if (run.of_type("experiment").empty()) refuse(run.folder.string() + ": has no experiment");
}

// The lines to append, one for each experiment of the run.
std::string publication_lines(const RunFile& run, const Ledger& ledger, const Journal& journal,
                              Json fields) {
  try {
    fields["run"] = run.folder.filename().string();
    const Json& subject = run.run().at("subject_sha256");
    fields["code_sha256"] = attempt_code(run.run().at("code_sha256"),
                                         subject.is_string() ? subject.get<std::string>() : "");
    std::string lines;
    for (const Json* experiment : run.of_type("experiment")) {
      lines += publication_line(*experiment, ledger, fields, journal);
    }
    return lines;
  } catch (const Json::exception& error) {
    refuse(run.folder.string() + ": results.jsonl is not as a run writes it: " + error.what());
  }
}

}  // namespace

Publication publish_run(const Project& project, const fs::path& run_folder) {
  std::error_code error;
  const fs::path folder = fs::canonical(run_folder, error);
  if (error) refuse(run_folder.string() + ": " + error.message());
  std::optional<formats::FolderLock> alone;  // nobody goes on with it meanwhile; where nobody can
  if (::access(folder.c_str(), W_OK) == 0) alone.emplace(folder);  // write, nobody does
  const RunFile run = read_run_file(folder);
  require_finished(run);
  const fs::path to = project.published() / folder.filename();
  if (fs::exists(to)) refuse(to.string() + " exists already");

  const Journal journal = read_journal(project.journal());
  const std::string commit = checkout_state(project.root).commit;
  std::optional<Copy> copy;
  locked_append(project.ledger(), [&](std::string_view text) {
    const Ledger ledger = parse_ledger(text);
    require_valid(ledger, project.ledger().string());
    const auto lines = [&](const Json& artefacts) {
      return publication_lines(run, ledger, journal,
                               {{"artefacts", artefacts}, {"commit", commit}});
    };
    lines(Json::object());  // refuses before anything is copied
    if (fs::exists(to)) refuse(to.string() + " exists already");  // since we looked
    copy.emplace(to).copy_from(folder);
    std::string with_digests = lines(copy->digests);
    copy->place();
    return with_digests;
  });
  copy->keep();
  Publication published{to, {}};
  for (const auto& [name, digest] : copy->digests.items()) published.files.push_back(name);
  return published;
}

}  // namespace octlm::verify
