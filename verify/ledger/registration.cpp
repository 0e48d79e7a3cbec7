#include "verify/ledger/registration.h"

#include <algorithm>
#include <functional>
#include <set>
#include <stdexcept>

#include "formats/sha256.h"
#include "verify/ledger/anchors.h"
#include "verify/ledger/history.h"
#include "verify/ledger/journal.h"
#include "verify/ledger/locked_append.h"
#include "verify/ledger/standing.h"
#include "verify/provenance.h"

namespace octlm::verify {
namespace {

// Appends the line that `fields` makes of the experiment's chain, as the ledger stands under the
// lock.
void append_entry(const Project& project, const std::string& experiment, const std::string& entry,
                  const std::function<nlohmann::json(const Ledger&, const Chain&)>& fields) {
  const std::string commit = checkout_state(project.root).commit;
  require_whole(project, read_ledger(project.ledger()), read_anchors(project));
  locked_append(project.ledger(), [&](std::string_view text) {
    const Ledger ledger = parse_ledger(text);
    require_valid(ledger, project.ledger().string());
    const Chain& chain = ledger.chain(experiment);
    nlohmann::json line = fields(ledger, chain);
    line["commit"] = commit;
    return ledger_line(chain, experiment, entry, line);
  });
}

nlohmann::json claim_fields(const Spec& spec) {
  std::vector<std::string> metrics = spec.also_record;
  for (const Criterion& criterion : spec.criteria) metrics.push_back(criterion.metric);
  std::sort(metrics.begin(), metrics.end());
  metrics.erase(std::unique(metrics.begin(), metrics.end()), metrics.end());
  return {{"spec_sha256", spec.sha256},
          {"spec", spec.raw},
          {"files", spec.file_sha256},
          {"metrics", metrics},
          {"measures", spec.measures}};
}

std::string measurement_of(const LedgerLine& claim) {
  Spec spec;
  spec.raw = claim.fields["spec"];
  spec.kind = spec.raw.value("kind", "");
  return formats::sha256(measurement_input(spec, claim.fields["files"]));
}

std::set<std::string> measures_in(const nlohmann::json& fields) {
  const auto measures = fields.find("measures");
  return measures == fields.end() ? std::set<std::string>()
                                  : measures->get<std::set<std::string>>();
}

// Of which comparisons the chain says that results are known.
std::set<std::string> known_measures(const Chain& chain) {
  std::set<std::string> known;
  for (const LedgerLine& line : chain) {
    if (shows_results(line)) known.merge(measures_in(line.fields));
  }
  return known;
}

// "2 of its 40 comparisons"; "" when none is among `known`.
std::string share_text(const Spec& spec, const std::set<std::string>& known) {
  const auto seen = std::ranges::count_if(
      spec.measures, [&](const std::string& one) { return known.contains(one); });
  if (seen == 0) return "";
  return std::to_string(seen) + " of its " + std::to_string(spec.measures.size()) + " comparisons";
}

std::string seen_in_chain(const std::string& experiment, const Chain& chain, const Spec& spec) {
  const LedgerLine* claim = claim_of(chain);
  if (claim == nullptr || !results_known(chain)) return "";
  if (experiment == spec.id || measurement_of(*claim) == spec.measurement_sha256)
    return "the ledger (" + experiment + ")";
  const std::string share = share_text(spec, known_measures(chain));
  return share.empty() ? "" : "the ledger (" + experiment + " has " + share + ")";
}

std::string seen_in_journal(const Journal& journal, const Spec& spec) {
  const Attempt* attempt = journal.results_of(spec);
  if (attempt == nullptr) return "";
  const Intent& intent = attempt->intent;
  return "reports/journal.jsonl (" + intent.experiment + ", run " + intent.run + ")";
}

// Where this program can see results of what the spec measures; "" when nowhere.
std::string results_seen(const Project& project, const Ledger& ledger, const Spec& spec) {
  for (const auto& [experiment, chain] : ledger.chains) {
    if (std::string seen = seen_in_chain(experiment, chain, spec); !seen.empty()) return seen;
  }
  return seen_in_journal(read_journal(project.journal()), spec);
}

void require_open(const Chain& chain, const std::string& experiment) {
  if (chain.empty()) {
    throw std::invalid_argument(experiment + " is not registered: register it first");
  }
  if (chain.back().entry == "withdraw") {
    throw std::invalid_argument(experiment + " was withdrawn: register a new id");
  }
}

void require_reason(const std::string& reason) {
  if (reason.find_first_not_of(" \t\n") == std::string::npos) {
    throw std::invalid_argument("--reason is empty");
  }
}

std::string source_text(const std::string& seen, const std::string& declared) {
  if (seen.empty() || declared.empty()) return seen + declared;
  return declared + "; seen in " + seen;
}

}  // namespace

Amendment changes_since(const LedgerLine& claim, const Spec& spec) {
  return amendment(claim.fields, {{"spec", spec.raw}, {"files", spec.file_sha256}});
}

void register_claim(const Project& project, const Spec& spec, const PriorResults& prior) {
  const auto blank = prior.source.find_first_not_of(" \t\n") == std::string::npos;
  if (prior.declared && blank) {
    throw std::invalid_argument("--prior-results declared needs --source: where they are");
  }
  append_entry(project, spec.id, "register", [&](const Ledger& ledger, const Chain& chain) {
    if (!chain.empty()) {
      throw std::invalid_argument(spec.id + " is registered already, at " + chain.front().time +
                                  ": amend it, or claim anew under a new id");
    }
    const std::string seen = results_seen(project, ledger, spec);
    if (!seen.empty() && !prior.declared) {
      throw std::invalid_argument(spec.id + ": such results are in " + seen +
                                  ": say so with --prior-results declared --source");
    }
    nlohmann::json fields = claim_fields(spec);
    fields["prior_results"] = {{"computed", !seen.empty()},
                               {"declared", prior.declared},
                               {"source", source_text(seen, prior.source)}};
    return fields;
  });
}

Amendment amend_claim(const Project& project, const Spec& spec, const std::string& reason) {
  require_reason(reason);
  Amendment made;
  append_entry(project, spec.id, "amend", [&](const Ledger& ledger, const Chain& chain) {
    require_open(chain, spec.id);
    const LedgerLine& claim = *claim_of(chain);
    if (claim.fields["spec"] == spec.raw && claim.fields["files"] == spec.file_sha256) {
      throw std::invalid_argument(spec.id + " did not change since " + claim.time);
    }
    made = changes_since(claim, spec);
    const std::string seen = results_seen(project, ledger, spec);
    nlohmann::json fields = claim_fields(spec);
    fields["reason"] = reason;
    fields["changes"] = made.changes_json();
    fields["class"] = made.class_name();
    fields["prior_results"] = {{"computed", !seen.empty()}, {"declared", false}, {"source", seen}};
    return fields;
  });
  return made;
}

void withdraw_claim(const Project& project, const std::string& experiment,
                    const std::string& reason) {
  require_reason(reason);
  append_entry(project, experiment, "withdraw", [&](const Ledger&, const Chain& chain) {
    require_open(chain, experiment);
    return nlohmann::json{{"reason", reason}};
  });
}

}  // namespace octlm::verify
