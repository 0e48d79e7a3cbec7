// What the ledger says of a claim: its label, from its chain alone, so that every clone agrees.
#pragma once

#include <span>
#include <string>

#include "verify/ledger/ledger.h"
#include "verify/result.h"

namespace octlm::verify {

// Fills all of Trust but anchored, attempts and teeth. `chain` may end early: a result is judged by
// the lines that stood there when it was made.
//   confirmatory   the chain's claim has this digest, and no results were known when it was
//                  registered
//   replication    the same, but they were
//   exploratory    the claim was loosened when results were known; for good: a new id is a new
//                  start
//   unregistered   no chain, another digest, or withdrawn
Trust standing(std::span<const LedgerLine> chain, const std::string& spec_sha256);

// The label that a record of it has to bear, given the `experiment` line of results.jsonl: that of
// standing, or "uncounted" where the record says what speaks against the result.
std::string recorded_label(std::span<const LedgerLine> chain, const nlohmann::json& experiment);

// The last register or amend line; nullptr in an empty chain.
const LedgerLine* claim_of(std::span<const LedgerLine> chain);

// Were results of this experiment known, as far as the chain says?
bool results_known(std::span<const LedgerLine> chain);

// The part of a chain up to the line with this sha256, it included; empty when it is not there.
std::span<const LedgerLine> chain_until(const Chain& chain, const std::string& line_sha256);

}  // namespace octlm::verify
