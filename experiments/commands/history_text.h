// Lines of the ledger and the journal, for people.
#pragma once

#include <string>

#include "verify/ledger/amendment.h"
#include "verify/ledger/journal.h"
#include "verify/ledger/ledger.h"

namespace octlm::experiments {

// "max_abs_error@1 <= 0.001 {"device":"cuda"}"
std::string criterion_line(const nlohmann::json& criterion);

// One line a change: "narrowing  criteria[max_abs_error@1].at_most  0.001 -> 0.0001".
std::string changes_text(const verify::Amendment& amendment, const std::string& indent);

// "2026-01-31T12:00:00Z  amend, loosening: the reason"
std::string history_line(const verify::LedgerLine& line);

// "2026-01-31T12:00:00.123456Z  cpu  pass  confirmatory  20260131T120000Z-1  octlm 0.1.0 against
// transformers 4.57.6 [5b1c2d3e]"
std::string attempt_line(const verify::Attempt& attempt);

}  // namespace octlm::experiments
