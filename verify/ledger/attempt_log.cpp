#include "verify/ledger/attempt_log.h"

#include "verify/ledger/history.h"
#include "verify/ledger/standing.h"

namespace octlm::verify {
namespace {

// A run among the reports is known by its name, any other by its path.
std::string run_name(const std::filesystem::path& folder, const Project& project) {
  const auto whole = std::filesystem::weakly_canonical(folder);
  const bool ours = whole.parent_path() == std::filesystem::weakly_canonical(project.reports());
  return ours ? whole.filename().string() : whole.string();
}

}  // namespace

AttemptLog::AttemptLog(std::optional<Project> project) : project_(std::move(project)) {
  if (!project_) return;
  ledger_ = read_ledger(project_->ledger());
  anchors_ = read_anchors(*project_);
  require_whole(*project_, ledger_, anchors_);
}

std::optional<std::string> AttemptLog::ledger_head() const {
  return project_ ? std::optional(ledger_.head()) : std::nullopt;
}

Trust AttemptLog::trust(const Spec& spec) const {
  const Chain& chain = ledger_.chain(spec.id);
  Trust trust = standing(chain, spec.sha256);
  if (!chain.empty()) trust.anchored = is_anchored(chain, anchors_);
  return trust;
}

void AttemptLog::start_run(const std::filesystem::path& folder, const std::string& code_sha256) {
  if (project_) run_ = run_name(folder, *project_);
  code_sha256_ = code_sha256;
}

void AttemptLog::begin(const Spec& spec, const std::string& device, Trust& trust) {
  if (!project_) return;
  const Journal before = read_journal(project_->journal());
  const Attempt* earlier = before.last(run_, spec.id, device);
  const std::string intent =
      append_intent(project_->journal(), {.key = {spec.sha256, code_sha256_, device},
                                          .experiment = spec.id,
                                          .measurement_sha256 = spec.measurement_sha256,
                                          .run = run_,
                                          .label = trust.label,
                                          .entry = trust.entry,
                                          .resumes = earlier ? earlier->sha256 : ""});
  trust.attempts[device].intent = intent;
  recount(trust);
}

void AttemptLog::ready(const std::string& device, const nlohmann::json& identity, Trust& trust) {
  if (!project_ || engines_sha256(identity).empty()) return;
  append_engines(project_->journal(), trust.attempts[device].intent, identity);
  recount(trust);
}

void AttemptLog::finished(const Finished& comparison, const Trust& trust) {
  const auto attempts = trust.attempts.find(comparison.key.device);
  if (!project_ || attempts == trust.attempts.end() || attempts->second.intent.empty()) return;
  append_finished(project_->journal(), attempts->second.intent, comparison);
}

std::set<std::string> AttemptLog::finished_in(const std::filesystem::path& folder) const {
  std::set<std::string> digests;
  if (!project_) return digests;
  const Journal journal = read_journal(project_->journal());
  require_valid(journal, project_->journal().string());
  const std::string run = run_name(folder, *project_);
  for (const Attempt& one : journal.attempts) {
    if (one.intent.run != run) continue;
    for (const Finished& comparison : one.finished) digests.insert(comparison.sha256);
  }
  return digests;
}

void AttemptLog::take_up(const Spec& spec, const std::string& device, Trust& trust) {
  if (!project_) return;
  const Journal journal = read_journal(project_->journal());
  const Attempt* earlier = journal.last(run_, spec.id, device);
  if (earlier == nullptr) return begin(spec, device, trust);
  trust.attempts[device].intent = earlier->sha256;
  recount(trust);
}

void AttemptLog::recount(Trust& trust) const {
  if (!project_) return;
  const Journal journal = read_journal(project_->journal());
  for (auto& [device, attempts] : trust.attempts) {
    const Attempt* attempt = journal.find(attempts.intent);
    if (attempt == nullptr) continue;  // somebody has cut the journal; the audit says so
    attempts = journal.count(attempt->intent.key, attempt->sha256);
    attempts.engines = attempt->engines;
    const Attempt* failed = journal.failed_before(*attempt);
    if (failed != nullptr) attempts.failed_before = failed->time + ", run " + failed->intent.run;
  }
}

void AttemptLog::end(const Judgement& judgement, Trust& trust) {
  if (!project_) return;
  const Journal journal = read_journal(project_->journal());
  for (const DeviceResult& device : judgement.devices) {
    const auto attempts = trust.attempts.find(device.device);
    if (attempts == trust.attempts.end()) continue;
    const Attempt* attempt = journal.find(attempts->second.intent);
    if (attempt != nullptr && attempt->result) continue;
    append_result(project_->journal(), attempts->second.intent,
                  {verdict_name(device.verdict), device.comparisons});
  }
  recount(trust);
}

}  // namespace octlm::verify
