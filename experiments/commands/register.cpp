// octlm register EXP: from here on the claim is fixed, and its results count.
#include <iostream>
#include <memory>

#include "experiments/commands/checked_spec.h"
#include "experiments/commands/commands.h"
#include "experiments/commands/dry_run.h"
#include "experiments/kinds/kinds.h"
#include "verify/ledger/registration.h"
#include "verify/ledger/standing.h"
#include "verify/runner.h"

namespace octlm::experiments {
namespace {

struct RegisterArguments {
  std::vector<std::string> specs;
  std::string prior;
  std::string source;
};

int register_specs(const RegisterArguments& arguments) {
  const auto kinds = all_kinds();
  std::vector<verify::Spec> specs;
  for (const auto& name : arguments.specs) {
    CheckedSpec checked = claimed_spec(name, kinds);
    require_claimable(checked);
    specs.push_back(std::move(checked.spec));
  }
  if (arguments.prior == "none" && !arguments.source.empty()) {
    throw std::invalid_argument("--source goes with --prior-results declared");
  }
  const verify::Project project = this_project();
  for (const auto& spec : specs) {
    verify::register_claim(project, spec,
                           {.declared = arguments.prior == "declared", .source = arguments.source});
    const auto ledger = verify::read_ledger(project.ledger());
    std::cout << spec.id << ": registered, "
              << verify::standing(ledger.chain(spec.id), spec.sha256).label << ", spec sha256 "
              << spec.sha256 << '\n';
  }
  std::cout << "commit " << project.ledger_file
            << "; a published report or a git tag that has the line anchors it\n";
  return verify::kExitPass;
}

}  // namespace

void add_register(CommandLine& line) {
  auto arguments = std::make_shared<RegisterArguments>();
  CLI::App* command =
      line.app.add_subcommand("register", "fix a claim in the ledger, before its first run");
  command->add_option("spec", arguments->specs, "EXP-ID, or its file in experiments/registered")
      ->required();
  command
      ->add_option("--prior-results", arguments->prior,
                   "were such numbers seen before: none, or declared (then say where: --source)")
      ->required()
      ->check(CLI::IsMember({"none", "declared"}));
  command->add_option("--source", arguments->source, "where the earlier results are");
  command->callback([&action = line.action, arguments] {
    action = [arguments] { return register_specs(*arguments); };
  });
}

}  // namespace octlm::experiments
