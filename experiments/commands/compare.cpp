// octlm compare A B: what changed from one run to another. Exit code 0: nothing got worse; 1:
// something did; 2: one of them is no run; 4: they have no experiment in common.
#include <iostream>
#include <memory>

#include "experiments/commands/commands.h"
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

int compare(const std::string& first, const std::string& second) {
  const auto before = read(first);
  const auto after = read(second);
  const auto made = verify::difference(before, after);
  print_run("A", before);
  print_run("B", after);
  for (const auto& change : made.changes) {
    std::cout << word(change.weight) << verify::for_terminal(verify::change_text(change)) << '\n';
  }
  std::cout << verify::difference_headline(made) << "; in both: " << made.common_experiments
            << " experiments, " << made.common_comparisons << " comparisons\n";
  if (made.common_experiments == 0) {
    std::cerr << "octlm: the two runs have no experiment in common\n";
    return verify::kExitError;
  }
  return made.got_worse() ? verify::kExitFail : verify::kExitPass;
}

}  // namespace

void add_compare(CommandLine& line) {
  struct Folders {
    std::string first, second;
  };
  auto folders = std::make_shared<Folders>();
  CLI::App* command = line.app.add_subcommand("compare", "what changed from run A to run B");
  command->add_option("A", folders->first, "the folder of the earlier run")->required();
  command->add_option("B", folders->second, "the folder of the later run")->required();
  command->callback([&action = line.action, folders] {
    action = [folders] { return compare(folders->first, folders->second); };
  });
}

}  // namespace octlm::experiments
