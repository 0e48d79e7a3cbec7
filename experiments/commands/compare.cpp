// octlm compare A B: what changed from one run to another. Exit code 0: nothing got worse; 1:
// something did; 2: one of them is no run; 4: no experiment was made by both.
#include <iostream>
#include <memory>

#include "experiments/commands/commands.h"
#include "experiments/commands/json_output.h"
#include "experiments/commands/octlm_program.h"
#include "verify/read_back.h"
#include "verify/report/escape.h"
#include "verify/report/run_difference.h"
#include "verify/runner.h"

namespace octlm::experiments {
namespace {

using Weight = verify::RunChange::Weight;

verify::RunResult read(const std::string& folder) {
  const auto file = verify::read_run_file(std::filesystem::weakly_canonical(folder));
  if (file.torn) {
    std::cerr << "octlm: " << verify::for_terminal(folder)
              << ": the last line of results.jsonl was cut off and is left out\n";
  }
  return verify::read_back(file, octlm_program());
}

void print_run(const char* name, const verify::RunResult& run) {
  std::cout << name << "  " << verify::for_terminal(run.info.folder.string()) << ", started "
            << verify::for_terminal(run.info.started) << ", commit "
            << verify::for_terminal(run.info.commit.substr(0, 12)) << '\n';
}

const char* word(Weight weight) {
  return weight == Weight::kWorse    ? "worse   "
         : weight == Weight::kBetter ? "better  "
                                     : "        ";
}

void print_difference(const verify::RunResult& before, const verify::RunResult& after,
                      const verify::RunDifference& made) {
  print_run("A", before);
  print_run("B", after);
  for (const auto& change : made.changes) {
    std::cout << word(change.weight) << verify::for_terminal(verify::change_text(change, "A", "B"))
              << '\n';
  }
  std::cout << verify::difference_headline(made) << "; in both: " << made.common_experiments
            << " experiments, " << made.common_comparisons << " comparisons\n";
}

struct CompareArguments {
  std::string first, second;
  bool json = false;
};

int compare(const CompareArguments& arguments) {
  const auto before = read(arguments.first);
  const auto after = read(arguments.second);
  const auto made = verify::difference(before, after);
  const int exit_code = made.common_experiments == 0 ? verify::kExitError
                        : made.got_worse()           ? verify::kExitFail
                                                     : verify::kExitPass;
  arguments.json ? print_document(std::cout, difference_json(before, after, made, exit_code))
                 : print_difference(before, after, made);
  if (made.common_experiments == 0)
    std::cerr << "octlm: there is no experiment that both runs made\n";
  return exit_code;
}

}  // namespace

void add_compare(CommandLine& line) {
  auto arguments = std::make_shared<CompareArguments>();
  CLI::App* command = line.app.add_subcommand("compare", "what changed from run A to run B");
  command->add_option("A", arguments->first, "the folder of the earlier run")->required();
  command->add_option("B", arguments->second, "the folder of the later run")->required();
  command->add_flag("--json", arguments->json, "the same as one JSON document");
  command->callback(
      [&action = line.action, arguments] { action = [arguments] { return compare(*arguments); }; });
}

}  // namespace octlm::experiments
