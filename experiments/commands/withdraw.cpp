// octlm withdraw EXP --reason: the claim is no longer made; its history stays.
#include <iostream>
#include <memory>

#include "experiments/commands/checked_spec.h"
#include "experiments/commands/commands.h"
#include "verify/ledger/registration.h"
#include "verify/runner.h"

namespace octlm::experiments {

void add_withdraw(CommandLine& line) {
  auto id = std::make_shared<std::string>();
  auto reason = std::make_shared<std::string>();
  CLI::App* command = line.app.add_subcommand("withdraw", "take a registered claim back");
  command->add_option("id", *id, "EXP-ID")->required();
  command->add_option("--reason", *reason, "why")->required();
  command->callback([&action = line.action, id, reason] {
    action = [id, reason] {
      verify::withdraw_claim(this_project(), *id, *reason);
      std::cout << *id << ": withdrawn; its file may be removed, its id is not used again\n";
      return static_cast<int>(verify::kExitPass);
    };
  });
}

}  // namespace octlm::experiments
