// octlm list: the experiments there are; --kinds and --metrics explain what a spec can name.
#include <iostream>
#include <memory>

#include "experiments/commands/checked_spec.h"
#include "experiments/commands/commands.h"
#include "experiments/commands/listing.h"
#include "experiments/commands/selection.h"
#include "experiments/kinds/kinds.h"
#include "verify/ledger/standing.h"
#include "verify/runner.h"

namespace octlm::experiments {
namespace {

// Twelve letters wide.
std::string state_text(const verify::Trust& trust) {
  std::string text = trust.label;
  if (trust.why.starts_with("withdrawn")) text = "withdrawn";
  if (trust.label == "unregistered" && trust.why.starts_with("its spec")) text = "edited";
  text.resize(12, ' ');
  return text;
}

void list_experiments(const std::vector<verify::Kind>& kinds) {
  const verify::Project project = this_project();
  const auto ledger = verify::read_ledger(project.ledger());
  verify::require_valid(ledger, project.ledger().string());
  for (const auto& spec : select_specs(project.registered(), {"*"}, kinds)) {
    const auto trust = verify::standing(ledger.chain(spec.id), spec.sha256);
    std::cout << spec.id << "  " << state_text(trust) << "  " << spec.kind << "  " << spec.title
              << '\n';
  }
}

}  // namespace

void add_list(CommandLine& line) {
  struct Arguments {
    bool kinds = false;
    bool metrics = false;
  };
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = line.app.add_subcommand("list", "list experiments, kinds or metrics");
  auto* kinds_flag = command->add_flag("--kinds", arguments->kinds, "what experiments can do");
  command->add_flag("--metrics", arguments->metrics, "what criteria can be about")
      ->excludes(kinds_flag);
  command->callback([&action = line.action, arguments] {
    action = [arguments] {
      const auto kinds = all_kinds();
      if (arguments->kinds) {
        list_kinds(std::cout, kinds);
      } else if (arguments->metrics) {
        list_metrics(std::cout, kinds);
      } else {
        list_experiments(kinds);
      }
      return static_cast<int>(verify::kExitPass);
    };
  });
}

}  // namespace octlm::experiments
