// octlm reduce RUN [CASE]: the shortest beginning of a failing case that still fails, and a command
// that shows it.
#include <iostream>
#include <memory>
#include <set>

#include "experiments/commands/checked_spec.h"
#include "experiments/commands/commands.h"
#include "experiments/commands/octlm_program.h"
#include "experiments/commands/reduction.h"
#include "experiments/commands/run_arguments.h"
#include "experiments/kinds/kinds.h"
#include "formats/nearest_name.h"
#include "formats/output_file.h"
#include "verify/provenance.h"
#include "verify/read_back.h"
#include "verify/report/escape.h"
#include "verify/report/facts.h"
#include "verify/report/text.h"

namespace octlm::experiments {
namespace {

namespace fs = std::filesystem;

struct ReduceArguments {
  std::string run, case_name, out;
  std::vector<std::string> models;
};

struct Failing {
  const verify::ExperimentResult* experiment = nullptr;
  const verify::ComparisonResult* comparison = nullptr;
};

// The first comparison of the case (of any, when it has no name) that fails.
Failing find_failing(const verify::RunResult& run, const ReduceArguments& arguments) {
  std::set<std::string> cases;
  for (const auto& experiment : run.experiments) {
    for (const auto& comparison : experiment.comparisons) {
      cases.insert(comparison.key.case_name);
      const bool named =
          arguments.case_name.empty() || arguments.case_name == comparison.key.case_name;
      if (named && verify::judged(experiment, comparison).state == verify::ComparisonState::kBroke)
        return {&experiment, &comparison};
    }
  }
  if (arguments.case_name.empty())
    throw std::invalid_argument(arguments.run + ": no comparison of this run fails");
  if (cases.contains(arguments.case_name))
    throw std::invalid_argument(arguments.run + ": the case \"" + arguments.case_name +
                                "\" does not fail");
  throw std::invalid_argument(
      arguments.run + ": there is no case \"" + arguments.case_name + "\"" +
      formats::suggestion(arguments.case_name, {cases.begin(), cases.end()}));
}

// The spec that the run had, as it stands now: an edited one is another claim.
verify::Spec recorded_spec(const verify::ExperimentResult& experiment,
                           const std::vector<verify::Kind>& kinds) {
  const fs::path recorded = experiment.spec_file;
  const fs::path file = recorded.is_absolute() ? recorded : this_project().root / recorded;
  verify::Spec spec = verify::read_spec(file, kinds);
  if (spec.sha256 != experiment.spec_sha256)
    throw std::invalid_argument(file.string() + ": was edited since the run; run it again first");
  return spec;
}

// Where nothing stands yet.
fs::path fresh_file(const std::string& wanted, const std::string& id) {
  if (!wanted.empty()) {
    if (fs::exists(wanted)) throw std::invalid_argument("--out " + wanted + ": exists already");
    return wanted;
  }
  const fs::path folder = this_project().reports() / "reduced";
  fs::create_directories(folder);
  for (int n = 1;; ++n) {
    const fs::path file = folder / (id + "-" + std::to_string(n) + ".json");
    if (!fs::exists(file)) return file;
  }
}

std::string numbers_text(const PrefixResult& result) {
  std::string text;
  for (const auto& criterion : result.judgement.criteria)
    text += (text.empty() ? "" : ", ") + criterion.metric + " " + verify::criterion_text(criterion);
  return text;
}

void print_reduction(const Reduction& made, const verify::ComparisonKey& key) {
  const std::size_t length = made.token_ids.size();
  std::cout << verify::for_terminal(key_text(key)) << ": the first " << length << " of " << made.of
            << " tokens fail (" << (made.bisected ? "bisected" : "every shorter prefix holds")
            << ", " << made.measured << " prefixes measured)\n"
            << "token_ids: " << nlohmann::json(made.token_ids).dump() << '\n'
            << length << " tokens: " << numbers_text(made.result) << '\n';
  if (made.shorter) std::cout << length - 1 << " tokens: " << numbers_text(*made.shorter) << '\n';
}

int reduce(const ReduceArguments& arguments) {
  const auto kinds = all_kinds();
  const auto run = verify::read_back(verify::read_run_file(arguments.run), octlm_program());
  const Failing failing = find_failing(run, arguments);
  const verify::Spec spec = recorded_spec(*failing.experiment, kinds);
  RunArguments again;
  again.resume = arguments.run;
  again = resumed_arguments(again);
  for (const std::string& model : arguments.models) again.models.push_back(model);
  const LocalOptions local = local_options(again);
  const Environment environment = local_environment(local);
  std::cerr << "octlm: reducing " << verify::for_terminal(spec.id) << ", "
            << verify::for_terminal(key_text(failing.comparison->key)) << '\n';
  const Reduction made = reduce_case(spec, failing.comparison->key, environment, kinds);

  const fs::path file = fresh_file(arguments.out, made.spec.at("id"));
  formats::replace_file(file, made.spec.dump(2) + "\n");
  print_reduction(made, failing.comparison->key);
  RunArguments show;
  show.selection = {file.string()};
  show.models = again.models;
  show.subject = again.subject;
  show.subject_timeout_s = again.subject_timeout_s;
  show.reference = again.reference;
  std::cout << "to see it (the verdict is fail; the exit code is 3, as nobody registered it):\n"
            << run_command(show) << '\n';
  return verify::kExitPass;
}

}  // namespace

void add_reduce(CommandLine& line) {
  auto arguments = std::make_shared<ReduceArguments>();
  CLI::App* command = line.app.add_subcommand(
      "reduce", "the shortest beginning of a failing case that still fails");
  command->add_option("run", arguments->run, "the folder of a run with a failing case")->required();
  command->add_option("case", arguments->case_name, "its name; none: the first that fails");
  command
      ->add_option("--model", arguments->models, "NAME=PATH, where it is no longer as in the run")
      ->allow_extra_args(false);
  command->add_option("--out", arguments->out,
                      "the new spec (default: a fresh file in reports/reduced)");
  command->callback(
      [&action = line.action, arguments] { action = [arguments] { return reduce(*arguments); }; });
}

}  // namespace octlm::experiments
