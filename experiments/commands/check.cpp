// octlm check FILE: a dry run. Reads a spec as strictly as a run would, says what it asks for, what
// of that is here, and roughly what it would take. Computes nothing and registers nothing.
#include <iostream>
#include <map>
#include <memory>

#include "experiments/commands/checked_spec.h"
#include "experiments/commands/commands.h"
#include "experiments/commands/dry_run.h"
#include "experiments/commands/history_text.h"
#include "experiments/engines/checkpoint_store.h"
#include "experiments/kinds/kinds.h"
#include "verify/ledger/registration.h"
#include "verify/ledger/standing.h"
#include "verify/runner.h"

namespace octlm::experiments {
namespace {

// What the ledger has of it, and what an amendment would be.
void say_standing(const verify::Spec& spec) {
  const verify::Project project = this_project();
  const auto ledger = verify::read_ledger(project.ledger());
  verify::require_valid(ledger, project.ledger().string());
  const auto& chain = ledger.chain(spec.id);
  const auto trust = verify::standing(chain, spec.sha256);
  std::cout << trust.label << (trust.why.empty() ? "" : ": " + trust.why) << '\n';
  const auto* claim = verify::claim_of(chain);
  if (claim == nullptr || claim->fields["spec"] == spec.raw) return;
  const auto made = verify::changes_since(*claim, spec);
  std::cout << "since " << claim->time << " it changed, a " << made.class_name() << ":\n"
            << changes_text(made, "  ");
}

int check(const std::string& file, const std::vector<std::string>& models) {
  ModelPaths paths;
  for (const std::string& model : models) add_model_path(paths, model);
  const CheckedSpec checked = checked_spec(spec_file(file), all_kinds());
  const verify::Spec& spec = checked.spec;
  std::map<std::string, int> by_device;
  for (const auto& key : checked.plan) ++by_device[key.device];
  std::cout << spec.id << ": " << spec.kind << ", " << spec.criteria.size() << " criteria";
  for (const auto& [device, count] : by_device) {
    std::cout << ", " << count << " comparisons on " << device;
  }
  std::cout << "\nsha256 " << spec.sha256 << '\n';
  say_standing(spec);
  print_dry_run(std::cout, checked, paths);
  return verify::kExitPass;
}

}  // namespace

void add_check(CommandLine& line) {
  auto file = std::make_shared<std::string>();
  auto models = std::make_shared<std::vector<std::string>>();
  CLI::App* command = line.app.add_subcommand("check", "read a spec as a run would; run nothing");
  command->add_option("file", *file, "the spec")->required();
  command->add_option("--model", *models, "NAME=PATH: the checkpoint folder of a model")
      ->allow_extra_args(false);
  command->callback([&action = line.action, file, models] {
    action = [file, models] { return check(*file, *models); };
  });
}

}  // namespace octlm::experiments
