// The ledger only grows: what git or a published report saw of it is still there. The chains show what
// was changed between two lines; this shows lines that are missing at the end, or a chain that is gone
// as a whole.
#pragma once

#include <string>
#include <vector>

#include "verify/ledger/anchors.h"
#include "verify/ledger/ledger.h"
#include "verify/ledger/project.h"

namespace octlm::verify {

// One sentence for each line that a commit of HEAD's history added to the ledger, or that a published
// report or a tag names, and that is in it no more. Outside a git checkout only the latter two are
// known.
std::vector<std::string> lost_lines(const Project& project, const Ledger& ledger,
                                    const Anchors& anchors);

// Throws LedgerInvalid with the first problem of the ledger, lost lines included: a run, and whatever
// writes into the ledger, holds it against the same as an audit.
void require_whole(const Project& project, Ledger ledger, const Anchors& anchors);

}  // namespace octlm::verify
