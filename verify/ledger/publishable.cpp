#include "verify/ledger/publishable.h"

#include <array>
#include <map>
#include <set>
#include <stdexcept>

#include "formats/sha256.h"
#include "verify/criteria.h"
#include "verify/ledger/standing.h"
#include "verify/lines.h"
#include "verify/read_back.h"
#include "verify/runner.h"

namespace octlm::verify {
namespace {

using Json = nlohmann::json;

[[noreturn]] void refuse(const std::string& what) { throw std::invalid_argument(what); }

void require_finished(const RunFile& file) {
  const std::string name = file.folder.string();
  const Json* summary = file.summary();
  if (summary == nullptr || summary->value("interrupted", false) || file.torn)
    refuse(name + ": this run did not end: resume it first");
  if (file.of_type("summary").size() != 1) refuse(name + ": it has several summary lines");
  if (file.of_type("run").size() != 1) refuse(name + ": it has several run lines");
  if (file.of_type("experiment").empty()) refuse(name + ": has no experiment");
}

std::string line_text(const RunFile& file, std::size_t index) {
  return (file.folder / "results.jsonl").string() + ": line " + std::to_string(index + 1);
}

// An experiment on a device, as the journal has it.
using Place = std::pair<std::string, std::string>;

// The lines of the run against those of the journal.
class AgainstJournal {
 public:
  AgainstJournal(const RunFile& file, const Journal& journal)
      : file_(file), run_(file.folder.filename().string()) {
    for (const Attempt& one : journal.attempts) {
      if (one.intent.run != run_) continue;
      for (const Finished& comparison : one.finished) {
        known_.insert(comparison.sha256);
        owed_.insert(text_of(one.intent.experiment, comparison.key));
      }
    }
  }

  void require_same() {
    std::string further;
    for (std::size_t i = 0; i < file_.lines.size(); ++i) {
      const RunFile::Line& line = file_.lines[i];
      if (!is_framework_line(line.type())) {
        further += line.text + '\n';
        continue;
      }
      if (line.type() == "comparison" || line.type() == "not_compared")
        take(line, further + line.text + '\n', line_text(file_, i));
      further.clear();
    }
    if (owed_.empty()) return;
    refuse(file_.folder.string() +
           ": the journal has a comparison of this run that is not there: " + *owed_.begin());
  }

 private:
  static std::string text_of(const std::string& experiment, const ComparisonKey& key) {
    return experiment + ": " + key_text(key);
  }

  void take(const RunFile::Line& line, const std::string& lines, const std::string& where) {
    const std::string key =
        text_of(line.json.value("experiment", ""), comparison_from(line.json).key);
    if (!seen_.insert(key).second) refuse(where + ": a second line of " + key);
    owed_.erase(key);
    if (!known_.contains(formats::sha256(lines)))
      refuse(where + " is not what the journal has of this run (" + key +
             "): it was edited, or the folder is a copy");
  }

  const RunFile& file_;
  std::string run_;
  std::set<std::string> known_;  // digests of finished comparisons
  std::set<std::string> owed_;   // comparisons that the journal has, and the file not yet
  std::set<std::string> seen_;
};

// The attempt of an experiment's device, which must be of this run and have ended as it says.
const Attempt& attempt_of(const PublishableRun& run, const ExperimentResult& experiment,
                          const DeviceResult& device) {
  const std::string where = experiment.id + " on " + device.device;
  const auto attempts = experiment.trust.attempts.find(device.device);
  if (attempts == experiment.trust.attempts.end()) refuse(where + ": was run without a journal");
  const std::string& intent = attempts->second.intent;
  const Attempt* attempt = run.journal.find(intent);
  if (attempt == nullptr || !attempt->result)
    refuse(where + ": the journal has no finished attempt with intent " + intent);
  if (attempt->intent.run != run.file.folder.filename().string())
    refuse(where + ": it is of the run " + attempt->intent.run + ", and the folder is called " +
           run.file.folder.filename().string());
  if (attempt->intent.experiment != experiment.id || attempt->intent.key.device != device.device ||
      attempt->intent.key.spec_sha256 != experiment.spec_sha256)
    refuse(where + ": its intent is of something else, " + attempt->intent.experiment);
  if (attempt->result->verdict != verdict_name(device.verdict))
    refuse(where + ": the journal has another verdict, " + attempt->result->verdict);
  return *attempt;
}

// The claim that the run rests on.
const LedgerLine& claim_for(const PublishableRun& run, const ExperimentResult& experiment) {
  const auto then = chain_until(run.ledger.chain(experiment.id), experiment.trust.entry);
  const std::string& label = experiment.trust.label;
  if (then.empty())
    refuse(experiment.id + " is " + label + ": only what is in the ledger can be published");
  if (const std::string now = standing(then, experiment.spec_sha256).label; now != label)
    refuse(experiment.id + " is " + now + " by the ledger, and " + label + " by the run");
  return *claim_of(then);
}

// What follows from the comparisons, less the words.
Json judged(ExperimentResult experiment, const Judgement& judgement) {
  experiment.judgement = judgement;
  const Json line = experiment_line(experiment);
  Json kept = Json::object();
  for (const char* name : {"verdict", "devices", "comparisons"}) kept[name] = line.at(name);
  kept["criteria"] = line.at("criteria");
  for (Json& criterion : kept["criteria"]) criterion.erase("note");
  return kept;
}

void require_judged(const PublishableRun& run, const ExperimentResult& experiment) {
  const LedgerLine& claim = claim_for(run, experiment);
  std::map<std::string, std::string> failed_before;
  for (const DeviceResult& device : experiment.judgement.devices) {
    const Attempt& attempt = attempt_of(run, experiment, device);
    if (run.journal.failed_before(attempt) != nullptr) failed_before[device.device] = "before";
  }
  const Spec spec =
      parse_with_findings(claim.fields.at("spec").dump(),
                          run.project.registered() / (experiment.id + ".json"), run.kinds)
          .spec;
  if (experiment.planned != std::ssize(experiment.comparisons))
    refuse(experiment.id + ": " + std::to_string(experiment.planned) +
           " comparisons were planned, and " + std::to_string(experiment.comparisons.size()) +
           " stand there");
  const Json then = judged(experiment, experiment.judgement);
  const Json now = judged(experiment, judge(spec, experiment.comparisons, failed_before));
  for (const auto& [name, value] : now.items()) {
    if (then.at(name) == value) continue;
    const bool list = value.is_array();
    refuse(experiment.id + ": its " + name + " is not what follows from the comparisons" +
           (list ? "" : ": " + value.dump()));
  }
}

void require_unpublished(const PublishableRun& run, const ExperimentResult& experiment) {
  for (const LedgerLine& line : run.ledger.chain(experiment.id)) {
    if (line.entry != "publish") continue;
    for (const auto& [device, attempts] : experiment.trust.attempts) {
      if (line.fields["intents"].value(device, "") == attempts.intent)
        refuse(experiment.id + ": this run is published already, by " + line.text());
    }
  }
}

void require_engines(const PublishableRun& run) {
  for (const Json* line : run.file.of_type("started")) {
    const Started started = started_from(*line);
    const Attempt* attempt = run.journal.find(started.intent);
    if (attempt != nullptr &&
        attempt->intent.key.engines_sha256 == engines_sha256(started.identity)) {
      continue;
    }
    refuse(started.experiment + " on " + started.device +
           ": its engines are not those that the journal has");
  }
}

void require_counts(const RunResult& run, const std::string& folder) {
  const Summary now = summarize(run, {});
  const Summary& then = run.summary;
  const auto counts = [](const Summary& one) {
    return std::array{one.pass, one.fail, one.not_run, one.error, one.uncounted};
  };
  if (counts(now) != counts(then))
    refuse(folder + ": its summary does not count what its experiments are");
}

}  // namespace

void require_publishable(const PublishableRun& run) {
  require_finished(run.file);
  const RunResult made = read_back(run.file, run.program);
  std::set<std::string> ids;
  for (const Json* line : run.file.of_type("experiment")) {
    const std::string id = line->value("id", "");
    if (!ids.insert(id).second) refuse(run.file.folder.string() + ": a second line of " + id);
  }
  for (const ExperimentResult& experiment : made.experiments) {
    if (!ids.contains(experiment.id))
      refuse(run.file.folder.string() + ": " + experiment.id + " has comparisons and no verdict");
    require_unpublished(run, experiment);
    (void)claim_for(run, experiment);
    for (const DeviceResult& device : experiment.judgement.devices)
      (void)attempt_of(run, experiment, device);
  }
  require_engines(run);
  AgainstJournal(run.file, run.journal).require_same();
  for (const ExperimentResult& experiment : made.experiments) require_judged(run, experiment);
  require_counts(made, run.file.folder.string());
}

}  // namespace octlm::verify
