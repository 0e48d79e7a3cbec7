// Both records of a project, which read any bytes: what is wrong with them is a value.
#include "verify/ledger/ledger.h"

#include "formats/testing/fuzzing.h"
#include "verify/ledger/journal.h"
#include "verify/ledger/standing.h"

namespace octlm::verify {
namespace {

void read_ledger_of(std::string_view text) {
  const Ledger ledger = parse_ledger(text);
  (void)ledger.head();
  for (const auto& [experiment, chain] : ledger.chains) {
    (void)standing(chain, std::string(64, 'a'));
    (void)results_known(chain);
    (void)claim_of(chain);
    for (const LedgerLine& line : chain) {
      formats::testing::require_printable(line.text());
      formats::testing::require(chain_until(chain, line.sha256).size() <= chain.size(), "a part");
    }
  }
  for (const std::string& problem : ledger.problems) formats::testing::require_printable(problem);
}

void read_journal_of(std::string_view text) {
  const Journal journal = parse_journal(text);
  for (const Attempt& attempt : journal.attempts) {
    (void)journal.failed_before(attempt);
    (void)journal.count(attempt.intent.key, attempt.sha256);
  }
  (void)journal.results_exist("EXP-001", "");
  for (const std::string& problem : journal.problems) formats::testing::require_printable(problem);
}

}  // namespace
}  // namespace octlm::verify

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = octlm::formats::testing::text_of(data, size);
  octlm::verify::read_ledger_of(text);
  octlm::verify::read_journal_of(text);
  return 0;
}
