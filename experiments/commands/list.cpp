// octlm list: the experiments there are; --kinds, --metrics and --faults: what a spec can name.
#include <iostream>
#include <memory>

#include "experiments/commands/checked_spec.h"
#include "experiments/commands/commands.h"
#include "experiments/commands/json_output.h"
#include "experiments/commands/listing.h"
#include "experiments/commands/selection.h"
#include "experiments/kinds/kinds.h"
#include "verify/ledger/standing.h"
#include "verify/runner.h"

namespace octlm::experiments {
namespace {

// The label, or what became of the claim.
std::string state_of(const verify::Trust& trust) {
  if (trust.why.starts_with("withdrawn")) return "withdrawn";
  if (trust.label == "unregistered" && trust.why.starts_with("its spec")) return "edited";
  return trust.label;
}

std::string tags_text(const std::vector<std::string>& tags) {
  std::string text;
  for (const std::string& tag : tags) text += (text.empty() ? "" : ", ") + tag;
  return text.empty() ? "" : "  [" + text + "]";
}

nlohmann::ordered_json experiments_json(const std::vector<verify::Kind>& kinds) {
  const verify::Project project = this_project();
  const auto ledger = verify::read_ledger(project.ledger());
  verify::require_valid(ledger, project.ledger().string());
  auto list = nlohmann::ordered_json::array();
  for (const auto& spec : select_specs(project.registered(), {"*"}, kinds)) {
    const auto trust = verify::standing(ledger.chain(spec.id), spec.sha256);
    list.push_back(listed_json(spec, trust, state_of(trust)));
  }
  return {{"experiments", list}};
}

void list_experiments(const nlohmann::ordered_json& list) {
  for (const auto& one : list["experiments"]) {
    std::string state = one["state"];
    state.resize(12, ' ');
    std::cout << one["id"].get<std::string>() << "  " << state << "  "
              << one["kind"].get<std::string>() << "  " << one["title"].get<std::string>()
              << tags_text(one["tags"]) << '\n';
  }
}

struct ListArguments {
  bool kinds = false;
  bool metrics = false;
  bool faults = false;
  bool json = false;
};

int list(const ListArguments& arguments) {
  const auto kinds = all_kinds();
  const auto show = [&](auto&& as_json, auto&& as_text) {
    arguments.json ? print_document(std::cout, as_json()) : as_text();
    return static_cast<int>(verify::kExitPass);
  };
  if (arguments.kinds)
    return show([&] { return kinds_json(kinds); }, [&] { list_kinds(std::cout, kinds); });
  if (arguments.metrics)
    return show([&] { return metrics_list_json(kinds); }, [&] { list_metrics(std::cout, kinds); });
  if (arguments.faults)
    return show([&] { return faults_json(kinds); }, [&] { list_faults(std::cout, kinds); });
  const auto found = experiments_json(kinds);
  return show([&] { return found; }, [&] { list_experiments(found); });
}

}  // namespace

void add_list(CommandLine& line) {
  auto arguments = std::make_shared<ListArguments>();
  CLI::App* command =
      line.app.add_subcommand("list", "list experiments, kinds, metrics or planted faults");
  auto* kinds = command->add_flag("--kinds", arguments->kinds, "what experiments can do");
  auto* metrics = command->add_flag("--metrics", arguments->metrics, "what criteria can be about")
                      ->excludes(kinds);
  command->add_flag("--faults", arguments->faults, "what must_catch may name")
      ->excludes(kinds)
      ->excludes(metrics);
  command->add_flag("--json", arguments->json, "the same as one JSON document");
  command->callback(
      [&action = line.action, arguments] { action = [arguments] { return list(*arguments); }; });
}

}  // namespace octlm::experiments
