// octlm audit: do ledger, specs, published reports and journal fit together?
#include "verify/ledger/audit.h"

#include <iostream>
#include <memory>

#include "experiments/commands/checked_spec.h"
#include "experiments/commands/commands.h"
#include "experiments/commands/json_output.h"
#include "experiments/kinds/kinds.h"
#include "verify/runner.h"

namespace octlm::experiments {
namespace {

void print_findings(const verify::Audit& made) {
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
}

int audit(bool json) {
  const auto kinds = all_kinds();
  const auto made = verify::audit(this_project(), [&](const std::filesystem::path& file) {
    return verify::read_spec(file, kinds);
  });
  const int exit_code = made.clean() ? verify::kExitPass : verify::kExitUnregistered;
  json ? print_document(std::cout, audit_json(made, exit_code)) : print_findings(made);
  return exit_code;
}

}  // namespace

void add_audit(CommandLine& line) {
  auto json = std::make_shared<bool>(false);
  CLI::App* command = line.app.add_subcommand(
      "audit", "check the ledger, the specs, the published reports and the journal");
  command->add_flag("--json", *json, "the same as one JSON document");
  command->callback([&action = line.action, json] { action = [json] { return audit(*json); }; });
}

}  // namespace octlm::experiments
