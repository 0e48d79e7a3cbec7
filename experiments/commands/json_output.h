// What `--json` prints: one JSON document on stdout, whose names stay (docs/json-output.md).
#pragma once

#include <iosfwd>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "verify/kind.h"
#include "verify/ledger/audit.h"
#include "verify/ledger/journal.h"
#include "verify/ledger/ledger.h"
#include "verify/report/run_difference.h"
#include "verify/result.h"

namespace octlm::experiments {

// Members in the order given; bytes that are not UTF-8 become U+FFFD.
void print_document(std::ostream& out, const nlohmann::ordered_json& document);

nlohmann::ordered_json kinds_json(const std::vector<verify::Kind>& kinds);
nlohmann::ordered_json metrics_list_json(const std::vector<verify::Kind>& kinds);
nlohmann::ordered_json faults_json(const std::vector<verify::Kind>& kinds);

// An experiment as `list` has it. `state`: the label, "edited" or "withdrawn".
nlohmann::ordered_json listed_json(const verify::Spec& spec, const verify::Trust& trust,
                                   const std::string& state);
// A line of the ledger, less the spec that it carries.
nlohmann::ordered_json history_json(const verify::LedgerLine& line);
nlohmann::ordered_json attempt_json(const verify::Attempt& attempt);

nlohmann::ordered_json audit_json(const verify::Audit& audit, int exit_code);
nlohmann::ordered_json difference_json(const verify::RunResult& before,
                                       const verify::RunResult& after,
                                       const verify::RunDifference& difference, int exit_code);

}  // namespace octlm::experiments
