#include "verify/read_back.h"

#include <algorithm>
#include <set>

#include "verify/lenient_json.h"

namespace octlm::verify {
namespace {

using Json = nlohmann::json;

constexpr const char* kUnended = "the run did not end: it was killed, or it is still at work";

std::int64_t count_of(const Json& json) { return integer_of(json).value_or(0); }

std::map<std::string, std::string> strings_of(const Json& json) {
  std::map<std::string, std::string> strings;
  if (!json.is_object()) return strings;
  for (const auto& [name, value] : json.items()) strings[name] = string_of(value);
  return strings;
}

// An unknown word is no pass.
Verdict verdict_of(const std::string& word) {
  for (const Verdict verdict : {Verdict::kPass, Verdict::kFail, Verdict::kNotRun}) {
    if (word == verdict_name(verdict)) return verdict;
  }
  return Verdict::kError;
}

RunInfo info_from(const Json& line, const std::filesystem::path& folder) {
  const auto text = [&](const char* name) { return string_of(member(line, name)); };
  RunInfo info;
  info.version = text("version");
  info.commit = text("commit");
  info.code_sha256 = text("code_sha256");
  info.subject_sha256 = text("subject_sha256");
  info.dirty = bool_of(member(line, "dirty"));
  info.command = text("command");
  info.started = text("started");
  info.specs = strings_of(member(line, "specs"));
  if (member(line, "ledger_head").is_string()) info.ledger_head = text("ledger_head");
  info.resumed = text("resumed");
  info.request = member(line, "request");
  info.environment = member(line, "environment");
  info.planned = count_of(member(line, "planned"));
  info.folder = folder;
  return info;
}

void take_bound(const Json& line, CriterionResult& criterion) {
  using Bound = Criterion::Bound;
  for (const Bound bound : {Bound::kAtMost, Bound::kAtLeast, Bound::kEquals}) {
    const Json& limit = member(line, bound_name(bound));
    if (limit.is_null()) continue;
    criterion.bound = bound;
    if (const auto truth = bool_of(limit)) criterion.limit = *truth;
    if (const auto number = number_of(limit)) criterion.limit = *number;
    return;
  }
  criterion.bound = Bound::kEquals;
  criterion.limit = true;
}

CriterionResult criterion_from(const Json& line) {
  CriterionResult criterion;
  criterion.metric = string_of(member(line, "metric"));
  criterion.device = string_of(member(line, "device"));
  criterion.when = strings_of(member(line, "when"));
  take_bound(line, criterion);
  if (const Json& value = member(line, "value"); !value.is_null()) {
    criterion.value = metric_from(value);
  }
  criterion.holds = bool_of(member(line, "holds"));
  criterion.used = number_of(member(line, "used"));
  criterion.comparisons = count_of(member(line, "comparisons"));
  const Json& where = member(line, "where");
  criterion.where = {string_of(member(where, "case")), string_of(member(where, "path")), "",
                     string_of(member(where, "dtype"))};
  // A place is on the criterion's device; where nothing was judged there is none.
  if (!key_text(criterion.where).empty()) criterion.where.device = criterion.device;
  criterion.implied = bool_of(member(line, "implied")).value_or(false);
  criterion.derivation = string_of(member(line, "derivation"));
  criterion.note = string_of(member(line, "note"));
  return criterion;
}

Trust trust_from(const Json& line) {
  const Json& from = member(line, "trust");
  const auto text = [&](const char* name) { return string_of(member(from, name)); };
  Trust trust;
  trust.label = string_of(member(line, "label"));
  if (trust.label.empty()) trust.label = "unregistered";
  trust.why = text("why");
  trust.registered_time = string_of(member(member(from, "registered"), "time"));
  trust.registered_commit = string_of(member(member(from, "registered"), "commit"));
  trust.entry = text("entry");
  trust.amendments = count_of(member(from, "amendments"));
  trust.last_amendment = text("last_amendment");
  const Json& prior = member(from, "prior_results");
  trust.prior_results = bool_of(member(prior, "exist")).value_or(false);
  trust.prior_source = string_of(member(prior, "source"));
  trust.anchored = bool_of(member(from, "anchored"));
  if (const std::string teeth = text("teeth"); !teeth.empty()) trust.teeth = teeth;
  const Json& attempts = member(from, "attempts");
  if (!attempts.is_object()) return trust;
  for (const auto& [device, of] : attempts.items()) {
    trust.attempts[device] = {count_of(member(of, "attempt")), count_of(member(of, "failed")),
                              count_of(member(of, "abandoned")), string_of(member(of, "intent"))};
  }
  return trust;
}

DeviceResult& device_of(Judgement& judgement, const std::string& name) {
  for (DeviceResult& device : judgement.devices) {
    if (device.device == name) return device;
  }
  judgement.devices.push_back({.device = name, .verdict = Verdict::kNotRun, .reason = ""});
  return judgement.devices.back();
}

void count_comparisons(ExperimentResult& experiment) {
  for (const ComparisonResult& comparison : experiment.comparisons) {
    DeviceResult& device = device_of(experiment.judgement, comparison.key.device);
    ++device.planned;
    if (comparison.measurement()) ++device.comparisons;
  }
}

void take_verdict(const Json& line, ExperimentResult& experiment) {
  const auto text = [&](const char* name) { return string_of(member(line, name)); };
  experiment.title = text("title");
  experiment.kind = text("kind");
  experiment.model = text("model");
  experiment.spec_file = text("spec");
  experiment.spec_sha256 = text("spec_sha256");
  experiment.trust = trust_from(line);
  experiment.seconds = number_of(member(line, "seconds")).value_or(0);
  experiment.planned = count_of(member(line, "planned"));
  Judgement& judgement = experiment.judgement;
  judgement.verdict = verdict_of(text("verdict"));
  judgement.reason = text("reason");
  const auto reasons = strings_of(member(line, "reasons"));
  for (const auto& [name, verdict] : strings_of(member(line, "devices"))) {
    DeviceResult& device = device_of(judgement, name);
    device.verdict = verdict_of(verdict);
    if (const auto reason = reasons.find(name); reason != reasons.end()) {
      device.reason = reason->second;
    }
  }
  for (const Json& one : member(line, "criteria"))
    judgement.criteria.push_back(criterion_from(one));
}

// Its comparisons are all that is known of it.
void take_no_verdict(ExperimentResult& experiment) {
  experiment.trust.label = "unknown";
  experiment.trust.why = kUnended;
  experiment.judgement.verdict = Verdict::kNotRun;
  experiment.judgement.reason = kUnended;
  for (DeviceResult& device : experiment.judgement.devices) device.reason = kUnended;
  experiment.planned = std::ssize(experiment.comparisons);
  for (const ComparisonResult& comparison : experiment.comparisons) {
    const Measurement* measured = comparison.measurement();
    if (measured && experiment.model.empty()) {
      experiment.model = string_of(member(measured->record, "model"));
    }
  }
}

// In the order in which they appear; of each, its comparisons in theirs.
class Experiments {
 public:
  ExperimentResult& of(const std::string& id) {
    const auto [at, added] = places_.try_emplace(id, list.size());
    if (added) list.emplace_back().id = id;
    return list[at->second];
  }
  std::vector<ExperimentResult> list;

 private:
  std::map<std::string, std::size_t> places_;
};

std::int64_t times(const std::vector<ExperimentResult>& experiments, Verdict verdict) {
  return std::ranges::count(experiments, verdict,
                            [](const ExperimentResult& one) { return one.judgement.verdict; });
}

// What a run that did not end would have said so far; it is never a pass of the suite.
Summary summary_so_far(const RunResult& run) {
  Summary summary;
  summary.fail = times(run.experiments, Verdict::kFail);
  summary.error = times(run.experiments, Verdict::kError);
  summary.not_run = times(run.experiments, Verdict::kNotRun) + std::ssize(run.not_started);
  for (const ExperimentResult& one : run.experiments) {
    if (one.judgement.verdict != Verdict::kPass) continue;
    ++(run.info.ledger_head && !one.trust.counts() ? summary.uncounted : summary.pass);
  }
  summary.exit_code = 4;
  summary.why = "This run did not end: it was killed, or it is still at work.";
  return summary;
}

void take_summary(const Json& line, RunResult& run) {
  Summary& summary = run.summary;
  summary.pass = count_of(member(line, "pass"));
  summary.fail = count_of(member(line, "fail"));
  summary.not_run = count_of(member(line, "not_run"));
  summary.error = count_of(member(line, "error"));
  summary.uncounted = count_of(member(line, "uncounted"));
  summary.exit_code = static_cast<int>(
      std::clamp<std::int64_t>(integer_of(member(line, "exit_code")).value_or(4), 0, 255));
  summary.why = string_of(member(line, "why"));
  const bool interrupted = bool_of(member(line, "interrupted")).value_or(false);
  if (interrupted) run.interrupted_by = std::max(1, summary.exit_code - 128);
  for (const Json& id : member(line, "not_started")) run.not_started.push_back(string_of(id));
}

}  // namespace

RunResult read_back(const RunFile& file) {
  RunResult run;
  run.info = info_from(file.run(), file.folder);
  Experiments experiments;
  std::set<std::string> judged;
  for (const RunFile::Line& line : file.lines) {
    const std::string type = line.type();
    if (type == "comparison" || type == "not_compared") {
      experiments.of(string_of(member(line.json, "experiment")))
          .comparisons.push_back(comparison_from(line.json));
    } else if (type == "experiment") {
      ExperimentResult& experiment = experiments.of(string_of(member(line.json, "id")));
      count_comparisons(experiment);
      take_verdict(line.json, experiment);
      judged.insert(experiment.id);
    }
  }
  run.experiments = std::move(experiments.list);
  for (ExperimentResult& experiment : run.experiments) {
    if (judged.contains(experiment.id)) continue;
    count_comparisons(experiment);
    take_no_verdict(experiment);
  }
  if (const Json* summary = file.summary()) {
    take_summary(*summary, run);
    return run;
  }
  run.ended = false;
  std::set<std::string> seen;
  for (const ExperimentResult& experiment : run.experiments) seen.insert(experiment.id);
  for (const auto& [id, sha256] : run.info.specs) {
    if (!seen.contains(id)) run.not_started.push_back(id);
  }
  run.summary = summary_so_far(run);
  return run;
}

}  // namespace octlm::verify
