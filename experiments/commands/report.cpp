// octlm report DIR: the pages of a run made again from its results.jsonl.
// octlm report --index: one page over all runs of a folder. Neither runs anything.
#include <array>
#include <iostream>
#include <memory>

#include "experiments/commands/checked_spec.h"
#include "experiments/commands/commands.h"
#include "experiments/commands/octlm_program.h"
#include "formats/output_file.h"
#include "verify/report/escape.h"
#include "verify/report/index.h"
#include "verify/report/rendering.h"
#include "verify/run_file.h"
#include "verify/runner.h"

namespace octlm::experiments {
namespace {

namespace fs = std::filesystem;

struct ReportArguments {
  std::string folder;
  std::string out;
  bool index = false;
  std::string reports;  // of the index; "": the project's
};

// Where the pages go; refuses what would change somebody else's record.
fs::path destination(const ReportArguments& arguments, const fs::path& folder) {
  const auto project = this_project();
  const fs::path to = arguments.out.empty() ? folder : fs::path(arguments.out);
  if (verify::is_published(to, project)) {
    throw std::invalid_argument(to.string() +
                                ": is published, and the ledger names its files by digest: give "
                                "--out and a folder of your own");
  }
  if (arguments.out.empty()) return to;
  fs::create_directories(to);
  if (fs::exists(to / "results.jsonl") && !fs::equivalent(to, folder)) {
    throw std::invalid_argument(to.string() + ": holds the results of another run");
  }
  return to;
}

// What is damaged is listed on the page, and hides nothing else.
int index(const ReportArguments& arguments) {
  if (!arguments.folder.empty() || !arguments.out.empty()) {
    throw std::invalid_argument(
        "--index makes index.html in the folder of the runs: give it alone, or with that folder");
  }
  const fs::path reports =
      arguments.reports.empty() ? this_project().reports() : fs::path(arguments.reports);
  const auto runs = verify::indexed_runs(reports, octlm_program());
  const fs::path page = reports / "index.html";
  formats::replace_file(page, verify::index_page(runs, octlm_program()));
  for (const auto& run : runs) {
    if (run.fault.empty()) continue;
    std::cerr << "octlm: " << verify::for_terminal(run.name + ": damaged: " + run.fault) << '\n';
  }
  std::cout << verify::for_terminal(page.string()) << '\n';
  return verify::kExitPass;
}

int report(const ReportArguments& arguments) {
  if (arguments.index) return index(arguments);
  if (arguments.folder.empty()) {
    throw std::invalid_argument("report takes the folder of a run, or --index");
  }
  // A link such as reports/latest may point elsewhere tomorrow.
  const fs::path folder = fs::weakly_canonical(arguments.folder);
  verify::read_run_file(folder);  // what is no run is refused before anything is made
  const fs::path to = destination(arguments, folder);
  for (const char* name : verify::kRenderings)
    formats::require_no_input(to / name, std::array{folder / "results.jsonl"});
  const auto made = verify::render_run(folder, to, this_project(), octlm_program());
  if (made.torn) {
    std::cerr << "octlm: the last line of results.jsonl was cut off and is left out\n";
  }
  if (!made.run.ended) std::cerr << "octlm: " << verify::for_terminal(made.run.summary.why) << '\n';
  for (const auto& name : made.files)
    std::cout << verify::for_terminal((to / name).string()) << '\n';
  return verify::kExitPass;
}

}  // namespace

void add_report(CommandLine& line) {
  auto arguments = std::make_shared<ReportArguments>();
  CLI::App* command = line.app.add_subcommand(
      "report", "make summary.md, junit.xml and report.html again from a run's results.jsonl");
  command->add_option("folder", arguments->folder, "the run's folder");
  command->add_option("--out", arguments->out, "write them here (default: into the run's folder)");
  const auto* index = command
                          ->add_option("--index", arguments->reports,
                                       "instead: make index.html, one page over all runs in this "
                                       "folder (default: reports/)")
                          ->expected(0, 1);
  command->callback([&action = line.action, arguments, index] {
    arguments->index = index->count() > 0;
    action = [arguments] { return report(*arguments); };
  });
}

}  // namespace octlm::experiments
