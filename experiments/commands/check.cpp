// octlm check FILE: reads a spec as strictly as a run would, and says what it asks for. Runs nothing.
#include <iostream>
#include <map>
#include <memory>

#include "experiments/commands/commands.h"
#include "experiments/kinds/kinds.h"
#include "experiments/local_environment.h"
#include "verify/criteria.h"
#include "verify/runner.h"

namespace octlm::experiments {
namespace {

int check(const std::string& file) {
  const Environment environment = local_environment({});
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
  return verify::kExitPass;
}

}  // namespace

void add_check(CommandLine& line) {
  auto file = std::make_shared<std::string>();
  CLI::App* command = line.app.add_subcommand("check", "read a spec as a run would; run nothing");
  command->add_option("file", *file, "the spec")->required();
  command->callback([&action = line.action, file] { action = [file] { return check(*file); }; });
}

}  // namespace octlm::experiments
