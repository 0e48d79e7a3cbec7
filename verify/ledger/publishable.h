// May a run become part of the record? Its results.jsonl is held against the journal, which had each
// comparison first, and judged again by the claim that the ledger has.
#pragma once

#include <span>

#include "verify/kind.h"
#include "verify/ledger/journal.h"
#include "verify/ledger/ledger.h"
#include "verify/ledger/project.h"
#include "verify/program.h"
#include "verify/run_file.h"

namespace octlm::verify {

struct PublishableRun {
  const RunFile& file;
  const Ledger& ledger;
  const Journal& journal;
  const Project& project;
  std::span<const Kind> kinds;
  const Program& program;
};

// Throws std::invalid_argument, in one line, with what is wrong: it did not end; a comparison or an
// experiment stands there twice, or is not what the journal has of this run, or is missing; the
// verdicts, the criteria or the counts are not what follows from the comparisons; the label is not
// the ledger's; it was run under another name (a copied folder), or is published already.
void require_publishable(const PublishableRun& run);

}  // namespace octlm::verify
