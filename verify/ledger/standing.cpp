#include "verify/ledger/standing.h"

namespace octlm::verify {
namespace {

bool prior_results(const LedgerLine& line) {
  const nlohmann::json& prior = line.fields["prior_results"];
  return prior["computed"].get<bool>() || prior["declared"].get<bool>();
}

bool shows_results(const LedgerLine& line) {
  if (line.entry == "publish") return true;
  return line.entry != "withdraw" && prior_results(line);
}

void take_registration(Trust& trust, const LedgerLine& line) {
  trust.registered_time = line.time;
  trust.registered_commit = line.fields["commit"];
  trust.prior_results = prior_results(line);
  trust.prior_source = line.fields["prior_results"]["source"];
}

}  // namespace

const LedgerLine* claim_of(std::span<const LedgerLine> chain) {
  const LedgerLine* claim = nullptr;
  for (const LedgerLine& line : chain) {
    if (line.entry == "register" || line.entry == "amend") claim = &line;
  }
  return claim;
}

bool results_known(std::span<const LedgerLine> chain) {
  for (const LedgerLine& line : chain) {
    if (shows_results(line)) return true;
  }
  return false;
}

std::span<const LedgerLine> chain_until(const Chain& chain, const std::string& line_sha256) {
  for (std::size_t i = 0; i < chain.size(); ++i) {
    if (chain[i].sha256 == line_sha256) return std::span(chain).first(i + 1);
  }
  return {};
}

Trust standing(std::span<const LedgerLine> chain, const std::string& spec_sha256) {
  Trust trust;
  const LedgerLine* claim = claim_of(chain);
  if (claim == nullptr) {
    trust.why = "not in the ledger: register it";
    return trust;
  }
  bool known = false, exploratory = false;
  for (const LedgerLine& line : chain) {
    known |= shows_results(line);
    if (line.entry == "register") take_registration(trust, line);
    if (line.entry != "amend") continue;
    ++trust.amendments;
    trust.last_amendment = line.fields["class"];
    exploratory |= trust.last_amendment == "loosening" && known;
  }
  trust.entry = chain.back().sha256;
  if (chain.back().entry == "withdraw") {
    trust.why = "withdrawn: " + chain.back().fields["reason"].get<std::string>();
  } else if (claim->fields["spec_sha256"] != spec_sha256) {
    trust.why = "its spec is not the registered one: amend it";
  } else if (exploratory) {
    trust.label = "exploratory";
    trust.why = "loosened when its results were known: only a new id can be confirmed";
  } else {
    trust.label = trust.prior_results ? "replication" : "confirmatory";
  }
  return trust;
}

std::string recorded_label(std::span<const LedgerLine> chain, const nlohmann::json& experiment) {
  Trust trust = standing(chain, experiment.at("spec_sha256"));
  trust.note_reasons(experiment.at("trust"));
  trust.settle_reasons();
  return trust.label;
}

}  // namespace octlm::verify
