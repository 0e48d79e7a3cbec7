// octlm amend EXP --reason: the claim changes, in the open.
#include <iostream>
#include <memory>

#include "experiments/commands/checked_spec.h"
#include "experiments/commands/commands.h"
#include "experiments/commands/history_text.h"
#include "experiments/kinds/kinds.h"
#include "verify/ledger/registration.h"
#include "verify/ledger/standing.h"
#include "verify/runner.h"

namespace octlm::experiments {
namespace {

int amend(const std::string& name, const std::string& reason) {
  const auto kinds = all_kinds();
  const verify::Spec spec = claimed_spec(name, kinds).spec;
  const verify::Project project = this_project();
  const auto made = verify::amend_claim(project, spec, reason);
  std::cout << spec.id << ": amended, a " << made.class_name() << '\n' << changes_text(made, "  ");
  const auto ledger = verify::read_ledger(project.ledger());
  const auto trust = verify::standing(ledger.chain(spec.id), spec.sha256);
  std::cout << "it is " << trust.label << (trust.why.empty() ? "" : ": " + trust.why) << '\n';
  return verify::kExitPass;
}

}  // namespace

void add_amend(CommandLine& line) {
  auto name = std::make_shared<std::string>();
  auto reason = std::make_shared<std::string>();
  CLI::App* command = line.app.add_subcommand("amend", "record a change of a registered claim");
  command->add_option("spec", *name, "EXP-ID, or its file in experiments/registered")->required();
  command->add_option("--reason", *reason, "why")->required();
  command->callback([&action = line.action, name, reason] {
    action = [name, reason] { return amend(*name, *reason); };
  });
}

}  // namespace octlm::experiments
