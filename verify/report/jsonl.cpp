#include "verify/report/jsonl.h"

namespace octlm::verify {
namespace {

nlohmann::json or_null(const std::optional<std::string>& text) {
  return text ? nlohmann::json(*text) : nlohmann::json(nullptr);
}

nlohmann::json key_json(const ExperimentResult& experiment, const ComparisonKey& key) {
  return {{"experiment", experiment.id},
          {"case", key.case_name},
          {"path", key.path},
          {"device", key.device},
          {"dtype", key.dtype}};
}

nlohmann::json limit_json(const std::variant<double, bool>& limit) {
  const bool* truth = std::get_if<bool>(&limit);
  return truth ? nlohmann::json(*truth) : number_json(std::get<double>(limit));
}

nlohmann::json criterion_json(const CriterionResult& criterion) {
  nlohmann::json json = {{"metric", criterion.metric}, {"device", criterion.device}};
  if (!criterion.implied) json[bound_name(criterion.bound)] = limit_json(criterion.limit);
  json["value"] = criterion.value ? metric_json(*criterion.value) : nlohmann::json(nullptr);
  json["holds"] = criterion.holds ? nlohmann::json(*criterion.holds) : nlohmann::json(nullptr);
  json["used"] = criterion.used ? number_json(*criterion.used) : nlohmann::json(nullptr);
  json["comparisons"] = criterion.comparisons;
  json["where"] = {{"case", criterion.where.case_name},
                   {"path", criterion.where.path},
                   {"dtype", criterion.where.dtype}};
  json["implied"] = criterion.implied;
  if (!criterion.when.empty()) json["when"] = criterion.when;
  if (!criterion.derivation.empty()) json["derivation"] = criterion.derivation;
  if (!criterion.note.empty()) json["note"] = criterion.note;
  return json;
}

nlohmann::json trust_json(const Trust& trust) {
  nlohmann::json attempts = nlohmann::json::object();
  for (const auto& [device, of] : trust.attempts) {
    attempts[device] = {{"attempt", of.attempt},
                        {"failed", of.failed},
                        {"abandoned", of.abandoned},
                        {"intent", of.intent}};
  }
  nlohmann::json registered = nullptr;
  if (!trust.registered_time.empty()) {
    registered = {{"time", trust.registered_time}, {"commit", trust.registered_commit}};
  }
  return {{"why", trust.why},
          {"registered", registered},
          {"entry", trust.entry},
          {"amendments", trust.amendments},
          {"last_amendment", trust.last_amendment},
          {"prior_results", {{"exist", trust.prior_results}, {"source", trust.prior_source}}},
          {"anchored", trust.anchored ? nlohmann::json(*trust.anchored) : nlohmann::json(nullptr)},
          {"attempts", attempts},
          {"teeth", trust.teeth}};
}

// The highest over the devices; null without a journal.
nlohmann::json attempt_json(const Trust& trust) {
  nlohmann::json highest = nullptr;
  for (const auto& [device, of] : trust.attempts) {
    if (highest.is_null() || highest < of.attempt) highest = of.attempt;
  }
  return highest;
}

}  // namespace

std::string json_line(const char* type, const nlohmann::json& fields) {
  constexpr auto kReplace = nlohmann::json::error_handler_t::replace;
  std::string line = "{\"type\":" + nlohmann::json(type).dump();
  for (const auto& [name, value] : fields.items()) {
    line += "," + nlohmann::json(name).dump(-1, ' ', false, kReplace) + ":" +
            without_non_finite(value).dump(-1, ' ', false, kReplace);
  }
  return line + "}\n";
}

nlohmann::json run_line(const RunInfo& info) {
  return {
      {"schema", 1},
      {"version", info.version},
      {"commit", info.commit},
      {"dirty", info.dirty ? nlohmann::json(*info.dirty) : nlohmann::json(nullptr)},
      {"code_sha256", info.code_sha256},
      {"subject_sha256",
       info.subject_sha256.empty() ? nlohmann::json(nullptr) : nlohmann::json(info.subject_sha256)},
      {"command", info.command},
      {"started", info.started},
      {"ledger_head", or_null(info.ledger_head)},
      {"specs", info.specs},
      {"resumed", info.resumed.empty() ? nlohmann::json(nullptr) : nlohmann::json(info.resumed)},
      {"request", info.request},
      {"environment", info.environment}};
}

nlohmann::json comparison_line(const ExperimentResult& experiment, const ComparisonResult& result) {
  nlohmann::json json = key_json(experiment, result.key);
  if (const Measurement* measured = result.measurement()) {
    // The kind's fields do not replace ours.
    for (const auto& [name, value] : measured->record.items()) {
      if (!json.contains(name)) json[name] = value;
    }
    json["metrics"] = metrics_json(measured->metrics);
    return json;
  }
  const NotRun* not_run = result.not_run();
  json["verdict"] = verdict_name(not_run ? Verdict::kNotRun : Verdict::kError);
  json["reason"] = not_run ? not_run->reason : result.broken()->what;
  json["needs"] = not_run ? not_run->needs : "";
  return json;
}

nlohmann::json experiment_line(const ExperimentResult& experiment) {
  nlohmann::json devices = nlohmann::json::object();
  nlohmann::json reasons = nlohmann::json::object();
  for (const DeviceResult& device : experiment.judgement.devices) {
    devices[device.device] = verdict_name(device.verdict);
    if (!device.reason.empty()) reasons[device.device] = device.reason;
  }
  nlohmann::json criteria = nlohmann::json::array();
  for (const CriterionResult& one : experiment.judgement.criteria) {
    criteria.push_back(criterion_json(one));
  }
  return {{"id", experiment.id},
          {"kind", experiment.kind},
          {"title", experiment.title},
          {"model", experiment.model},
          {"verdict", verdict_name(experiment.judgement.verdict)},
          {"devices", devices},
          {"reason", experiment.judgement.reason},
          {"reasons", reasons},
          {"label", experiment.trust.label},
          {"comparisons", experiment.compared()},
          {"planned", experiment.planned},
          {"criteria", criteria},
          {"spec", experiment.spec_file},
          {"spec_sha256", experiment.spec_sha256},
          {"attempt", attempt_json(experiment.trust)},
          {"trust", trust_json(experiment.trust)},
          {"seconds", experiment.seconds}};
}

nlohmann::json summary_line(const RunResult& run) {
  const Summary& summary = run.summary;
  return {{"pass", summary.pass},
          {"fail", summary.fail},
          {"not_run", summary.not_run},
          {"error", summary.error},
          {"uncounted", summary.uncounted},
          {"exit_code", summary.exit_code},
          {"why", summary.why},
          {"not_started", run.not_started},
          {"interrupted", run.interrupted_by != 0}};
}

void JsonlReport::run_started(const RunInfo& info, std::int64_t comparisons) {
  if (!info.resumed.empty()) return;
  nlohmann::json fields = run_line(info);
  fields["planned"] = comparisons;
  file_.append(json_line("run", fields));
}

void JsonlReport::device_ready(const ExperimentResult& experiment, const std::string& device,
                               const nlohmann::json& identity) {
  const auto attempts = experiment.trust.attempts.find(device);
  const bool journaled = attempts != experiment.trust.attempts.end();
  file_.append(json_line("started", {{"experiment", experiment.id},
                                     {"device", device},
                                     {"spec_sha256", experiment.spec_sha256},
                                     {"intent", journaled ? attempts->second.intent : ""},
                                     {"identity", identity}}));
}

void JsonlReport::comparison_finished(const ExperimentResult& experiment,
                                      const ComparisonResult& result) {
  if (result.kept) return;
  std::string lines;  // written at once: where the comparison stands, so do its further lines
  if (const Measurement* measured = result.measurement()) {
    for (const FurtherLine& line : measured->lines) {
      nlohmann::json fields = key_json(experiment, result.key);
      for (const auto& [name, value] : line.fields.items()) {
        if (!fields.contains(name)) fields[name] = value;
      }
      lines += json_line(line.type.c_str(), fields);
    }
  }
  const char* type = result.measurement() ? "comparison" : "not_compared";
  file_.append(lines + json_line(type, comparison_line(experiment, result)));
}

void JsonlReport::experiment_finished(const ExperimentResult& experiment) {
  file_.append(json_line("experiment", experiment_line(experiment)));
}

void JsonlReport::run_finished(const RunResult& run) {
  file_.append(json_line("summary", summary_line(run)));
}

}  // namespace octlm::verify
