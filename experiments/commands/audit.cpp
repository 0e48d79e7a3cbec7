// octlm audit: do ledger, specs, published reports and journal fit together?
#include "verify/ledger/audit.h"

#include <iostream>

#include "experiments/commands/checked_spec.h"
#include "experiments/commands/commands.h"
#include "experiments/kinds/kinds.h"
#include "verify/runner.h"

namespace octlm::experiments {
namespace {

int audit() {
  const auto kinds = all_kinds();
  const auto made = verify::audit(this_project(), [&](const std::filesystem::path& file) {
    return verify::read_spec(file, kinds);
  });
  std::size_t problems = 0;
  for (const auto& finding : made.findings) {
    problems += finding.problem;
    std::cout << (finding.problem ? "!! " : "   ") << finding.text() << '\n';
  }
  std::cout << made.claims << " claims, " << made.reports << " published reports, " << made.attempts
            << " attempts in the journal: "
            << (problems == 0 ? "they fit together"
                              : std::to_string(problems) + " problems, marked !!")
            << '\n';
  return problems == 0 ? verify::kExitPass : verify::kExitUnregistered;
}

}  // namespace

void add_audit(CommandLine& line) {
  CLI::App* command = line.app.add_subcommand(
      "audit", "check the ledger, the specs, the published reports and the journal");
  command->callback([&action = line.action] { action = audit; });
}

}  // namespace octlm::experiments
