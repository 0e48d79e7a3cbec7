// octlm amend EXP --reason: the claim changes, in the open.
#include <unistd.h>

#include <iostream>
#include <memory>

#include "experiments/commands/checked_spec.h"
#include "experiments/commands/commands.h"
#include "experiments/commands/dry_run.h"
#include "experiments/commands/history_text.h"
#include "experiments/kinds/kinds.h"
#include "verify/ledger/registration.h"
#include "verify/ledger/standing.h"
#include "verify/runner.h"

namespace octlm::experiments {
namespace {

struct AmendArguments {
  std::string spec;
  std::string reason;
  bool yes = false;
};

// A loosening cannot be taken back: a person at a terminal is asked. Nobody is there to ask in a
// script.
bool is_wanted(const verify::Project& project, const verify::Spec& spec) {
  if (isatty(STDIN_FILENO) == 0 || isatty(STDERR_FILENO) == 0) return true;
  const auto ledger = verify::read_ledger(project.ledger());
  const auto* claim = verify::claim_of(ledger.chain(spec.id));
  if (claim == nullptr) return true;  // refused by what follows
  const auto made = verify::changes_since(*claim, spec);
  if (made.narrows()) return true;
  std::cerr << "This loosens " << spec.id << ":\n"
            << changes_text(made, "  ")
            << "Results of it that exist make every later run exploratory. Amend it? [y/N] ";
  std::string answer;
  std::getline(std::cin, answer);
  return answer == "y" || answer == "Y" || answer == "yes";
}

int amend(const AmendArguments& arguments) {
  const auto kinds = all_kinds();
  CheckedSpec checked = claimed_spec(arguments.spec, kinds);
  require_claimable(checked);
  const verify::Spec& spec = checked.spec;
  const verify::Project project = this_project();
  if (!arguments.yes && !is_wanted(project, spec))
    throw std::invalid_argument(spec.id + ": not amended");
  const std::string& reason = arguments.reason;
  const auto made = verify::amend_claim(project, spec, reason);
  std::cout << spec.id << ": amended, a " << made.class_name() << '\n' << changes_text(made, "  ");
  const auto ledger = verify::read_ledger(project.ledger());
  const auto trust = verify::standing(ledger.chain(spec.id), spec.sha256);
  std::cout << "it is " << trust.label << (trust.why.empty() ? "" : ": " + trust.why) << '\n';
  return verify::kExitPass;
}

}  // namespace

void add_amend(CommandLine& line) {
  auto arguments = std::make_shared<AmendArguments>();
  CLI::App* command = line.app.add_subcommand("amend", "record a change of a registered claim");
  command->add_option("spec", arguments->spec, "EXP-ID, or its file in experiments/registered")
      ->required();
  command->add_option("--reason", arguments->reason, "why")->required();
  command->add_flag("--yes", arguments->yes, "do not ask before a loosening");
  command->callback(
      [&action = line.action, arguments] { action = [arguments] { return amend(*arguments); }; });
}

}  // namespace octlm::experiments
