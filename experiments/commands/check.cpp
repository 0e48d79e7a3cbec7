// octlm check FILE: a dry run. Reads a spec as strictly as a run would, says what it asks for, what of that is
// here, and roughly what it would take. Computes nothing and registers nothing.
#include <iostream>
#include <map>
#include <memory>

#include "experiments/commands/commands.h"
#include "experiments/dry_run.h"
#include "experiments/kinds/kinds.h"
#include "experiments/local_environment.h"
#include "verify/criteria.h"
#include "verify/runner.h"

namespace octlm::experiments {
namespace {

int check(const std::string& file, const std::vector<std::string>& models) {
  LocalOptions local;
  for (const std::string& model : models) add_model_path(local.models, model);
  const Environment environment = local_environment(local);
  const auto kinds = all_kinds(environment);
  const auto spec = verify::read_spec(file, kinds);
  const auto experiment = verify::find_kind(spec.kind, kinds, file).read(spec);
  const auto plan = experiment->comparisons();
  const std::string fault = verify::plan_fault(spec, plan);
  if (!fault.empty()) throw verify::SpecError(file + ": " + fault);
  std::map<std::string, int> by_device;
  for (const auto& key : plan) ++by_device[key.device];
  std::cout << spec.id << ": " << spec.kind << ", " << spec.criteria.size() << " criteria";
  for (const auto& [device, count] : by_device) {
    std::cout << ", " << count << " comparisons on " << device;
  }
  std::cout << "\nsha256 " << spec.sha256 << '\n';
  print_dry_run(std::cout, spec, plan, environment);
  return verify::kExitPass;
}

}  // namespace

void add_check(CommandLine& line) {
  auto file = std::make_shared<std::string>();
  auto models = std::make_shared<std::vector<std::string>>();
  CLI::App* command = line.app.add_subcommand("check", "read a spec as a run would; run nothing");
  command->add_option("file", *file, "the spec")->required();
  command->add_option("--model", *models, "NAME=PATH: the checkpoint folder of a model")->allow_extra_args(false);
  command->callback([&action = line.action, file, models] { action = [file, models] { return check(*file, *models); }; });
}

}  // namespace octlm::experiments
