// What a person does to the ledger: register a claim, amend it, withdraw it. Each reads the ledger
// under its lock, appends one line, or throws and writes nothing: std::invalid_argument when it may
// not be done, LedgerInvalid, std::runtime_error when it cannot be written.
#pragma once

#include <string>

#include "verify/ledger/amendment.h"
#include "verify/ledger/ledger.h"
#include "verify/ledger/project.h"
#include "verify/spec.h"

namespace octlm::verify {

// What the person who registers says of results that existed before.
struct PriorResults {
  bool declared = false;
  std::string source;  // where they are, in words; REQUIRED when declared
};

// Refuses an id that the ledger has, and "none" when the journal or the ledger knows results of
// this experiment or of one that measures the same. REQUIRES that the spec was checked.
void register_claim(const Project& project, const Spec& spec, const PriorResults& prior);

// Appends the spec as it stands now, with what changed and its class. Refuses a spec that did not
// change.
Amendment amend_claim(const Project& project, const Spec& spec, const std::string& reason);

// The same as amend_claim would find, without writing.
Amendment changes_since(const LedgerLine& claim, const Spec& spec);

void withdraw_claim(const Project& project, const std::string& experiment,
                    const std::string& reason);

}  // namespace octlm::verify
