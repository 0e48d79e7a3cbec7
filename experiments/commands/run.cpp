// octlm run: the experiments a command line names, their verdicts, the reports.
#include <unistd.h>

#include <iostream>
#include <memory>
#include <set>
#include <sstream>

#include "experiments/commands/checked_spec.h"
#include "experiments/commands/commands.h"
#include "experiments/commands/inputs.h"
#include "experiments/commands/keyword_expression.h"
#include "experiments/commands/last_failed.h"
#include "experiments/commands/octlm_program.h"
#include "experiments/commands/open_page.h"
#include "experiments/commands/preview_text.h"
#include "experiments/commands/run_arguments.h"
#include "experiments/commands/selection.h"
#include "experiments/engines/local_environment.h"
#include "experiments/engines/octlm_engine.h"
#include "experiments/kinds/kinds.h"
#include "experiments/kinds/model_experiment.h"
#include "experiments/kinds/spec_parts.h"
#include "formats/input_file.h"
#include "formats/output_file.h"
#include "formats/standard_streams.h"
#include "reference/loader_variables.h"
#include "reference/process/program_files.h"
#include "reference/process/subprocess.h"
#include "verify/ledger/publish.h"
#include "verify/provenance.h"
#include "verify/report/console.h"
#include "verify/report/escape.h"
#include "verify/report/terminal.h"
#include "verify/runner.h"

namespace octlm::experiments {
namespace {

// The spec of an id that failed: the claim, else the file that was run.
std::string argument_of(const std::string& id, const std::string& recorded) {
  if (std::filesystem::exists(spec_file(id))) return id;
  return std::filesystem::path(recorded).is_absolute() ? recorded
                                                       : (checkout_root() / recorded).string();
}

std::vector<verify::Spec> named_specs(const RunArguments& arguments,
                                      const std::vector<verify::Kind>& kinds) {
  const auto registered = this_project().registered();
  if (!arguments.last_failed) return select_specs(registered, arguments.selection, kinds);
  const LastFailed failed = last_failed(this_project().reports());
  std::vector<std::string> names = arguments.selection;
  if (names.empty()) {
    for (const auto& [id, file] : failed.specs) names.push_back(argument_of(id, file));
  }
  auto specs = select_specs(registered, names, kinds);
  std::erase_if(specs, [&](const verify::Spec& spec) { return !failed.specs.contains(spec.id); });
  if (specs.empty()) {
    throw std::invalid_argument("--last-failed: none of those named failed or broke in " +
                                failed.run.string());
  }
  return specs;
}

// Throws std::invalid_argument when nothing is left.
void keep_matching(std::vector<verify::Spec>& specs, const std::string& keywords) {
  const KeywordExpression expression(keywords);
  std::string ids;
  for (const auto& spec : specs) ids += (ids.empty() ? "" : ", ") + spec.id;
  std::erase_if(specs, [&](const verify::Spec& spec) {
    std::vector<std::string> names = {spec.id, spec.title, spec.kind};
    names.insert(names.end(), spec.tags.begin(), spec.tags.end());
    return !expression.matches(names);
  });
  if (specs.empty()) {
    throw std::invalid_argument("-k '" + keywords + "' matches none of " + ids +
                                " (by default those tagged slow are left out: name them, or '*')");
  }
}

std::vector<verify::RunItem> selected_items(const RunArguments& arguments) {
  const auto kinds = all_kinds();
  auto specs = named_specs(arguments, kinds);
  if (!arguments.keywords.empty()) keep_matching(specs, arguments.keywords);
  std::vector<verify::RunItem> items;
  for (auto& spec : specs) items.push_back(verify::read_item(std::move(spec), kinds));
  return items;
}

verify::RunInfo run_info(const std::string& command) {
  const auto checkout = verify::checkout_state(checkout_root());
  verify::RunInfo info;
  info.version = verify::version();
  info.commit = checkout.commit;
  info.dirty = checkout.dirty;
  info.code_sha256 = verify::code_sha256();
  info.command = command;
  info.environment = verify::machine_json();
  if (const auto variables = reference::loader_variables(); !variables.empty())
    info.environment["loader"] = variables;
  info.program = octlm_program();
  return info;
}

verify::RunOptions run_options(const RunArguments& arguments, const LocalOptions& local,
                               const std::vector<verify::RunItem>& items,
                               const std::string& command) {
  verify::RunOptions options;
  options.reports = this_project().reports();
  if (!arguments.out.empty()) options.out = arguments.out;
  if (!arguments.resume.empty()) options.resume = arguments.resume;
  options.devices = arguments.devices;
  options.require = arguments.require;
  options.fail_fast = arguments.fail_fast;
  options.info = run_info(command);
  options.info.request = request_json(arguments, items);
  if (!local.subject.empty())
    options.info.subject_sha256 = reference::program_files(local.subject).sha256;
  options.project = this_project();
  return options;
}

constexpr std::size_t kLargestCopy = std::size_t{1} << 30;

// What a person asked for beside the reports of the run's folder.
void hand_out(const RunArguments& arguments, const std::filesystem::path& folder) {
  if (!arguments.junit.empty())
    formats::replace_file(arguments.junit, formats::read_file(folder / "junit.xml", kLargestCopy));
  if (!arguments.open) return;
  const std::string problem = open_page(folder / "report.html");
  if (!problem.empty()) {
    std::cerr << "octlm: not opened, " << problem << ": "
              << verify::for_terminal((folder / "report.html").string()) << '\n';
  }
}

int run(const RunArguments& given, const std::string& command) {
  formats::discard_closed_output();  // the record is in the run's folder, the verdict is the code
  const RunArguments arguments = resumed_arguments(given);
  const LocalOptions local = local_options(arguments);
  const Environment environment = local_environment(local);
  auto items = selected_items(arguments);
  refuse_unused_models(local, items);
  refuse_used_out(arguments);
  refuse_bad_junit(arguments);

  verify::RunOptions options = run_options(arguments, local, items, command);
  if (arguments.dry_run) {
    print_preview(std::cout, verify::preview(options, items), items, local);
    return verify::kExitPass;
  }
  std::ostringstream table;  // printed when the verdict is known, which a full disk does not change
  verify::ConsoleReport console(std::cerr, table,
                                {.redraw = verify::can_redraw(STDERR_FILENO), .columns = [] {
                                   return verify::terminal_columns(STDERR_FILENO);
                                 }});
  options.host = &environment;
  options.more_reports = {&console};
  for (const auto& folder : {options.out, options.resume}) {
    if (folder) require_no_inputs(*folder, verify::kArtefacts, inputs_of(items, local));
  }
  reference::stop_programs_when(verify::run_interrupted);
  const verify::RunResult made = verify::run(options, items);
  std::cout << table.str();
  hand_out(arguments, made.info.folder);
  return made.summary.exit_code;
}

// For the launcher: the checkpoints that it can make and that this selection lacks.
int print_missing_checkpoints(const RunArguments& given) {
  const RunArguments arguments = resumed_arguments(given);
  const ModelPaths models = local_options(arguments).models;
  std::set<std::string> missing;
  for (const auto& item : selected_items(arguments)) {
    const auto* experiment = about_a_model(*item.experiment);
    if (experiment == nullptr || !is_default_checkpoint(experiment->model().id)) continue;
    if (std::holds_alternative<verify::NotRun>(find_checkpoint(experiment->model(), models))) {
      missing.insert(experiment->model().id);
    }
  }
  for (const std::string& name : missing) std::cout << name << '\n';
  return verify::kExitPass;
}

}  // namespace

void add_run(CommandLine& line) {
  auto arguments = std::make_shared<RunArguments>();
  CLI::App* command = line.app.add_subcommand("run", "run experiments and write reports");
  add_run_options(*command, *arguments);
  command->callback([&action = line.action, arguments, text = line.text] {
    action = [arguments, text] { return run(*arguments, text); };
  });

  CLI::App* missing = line.app.add_subcommand("missing-checkpoints", "");
  missing->group("");  // for the launcher, not listed
  add_run_options(*missing, *arguments);
  missing->callback([&action = line.action, arguments] {
    action = [arguments] { return print_missing_checkpoints(*arguments); };
  });
}

}  // namespace octlm::experiments
