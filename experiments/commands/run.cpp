// octlm run: the experiments a command line names, their verdicts, the reports.
#include <unistd.h>

#include <iostream>
#include <memory>
#include <set>

#include "experiments/commands/commands.h"
#include "experiments/kinds/kinds.h"
#include "experiments/kinds/spec_parts.h"
#include "experiments/local_environment.h"
#include "experiments/octlm_engine.h"
#include "experiments/selection.h"
#include "reference/command_words.h"
#include "reference/process.h"
#include "verify/provenance.h"
#include "verify/report_console.h"
#include "verify/runner.h"

namespace octlm::experiments {
namespace {

struct RunArguments {
  std::vector<std::string> selection;
  std::vector<std::string> models;   // NAME=PATH
  std::vector<std::string> devices;
  std::vector<std::string> require;
  std::string subject = "octlm";
  double subject_timeout_s = 600;
  std::string reference = "transformers";
  std::string out;
};

void add_options(CLI::App& command, RunArguments& arguments) {
  command.add_option("experiments", arguments.selection,
                     "EXP-ID, GLOB, spec FILE or tag:TAG; none: every one not tagged slow");
  command.add_option("--model", arguments.models, "NAME=PATH: the checkpoint folder of a model")
      ->allow_extra_args(false);
  command.add_option("--device", arguments.devices, "only this device")
      ->check(CLI::IsMember({"cpu", "cuda"}))
      ->allow_extra_args(false);
  command.add_option("--subject", arguments.subject,
                     "octlm, or a command that speaks the logits filter (docs/your-engine.md)");
  command.add_option("--subject-timeout", arguments.subject_timeout_s,
                     "seconds after which a command without a sign of life is stopped")
      ->check(CLI::PositiveNumber);
  command.add_option("--reference", arguments.reference,
                     "transformers, or a folder of recorded logits");
  command.add_option("--require", arguments.require,
                     "exit 4 when one of these is absent: weights, cuda, reference")
      ->delimiter(',')
      ->allow_extra_args(false);
  command.add_option("--out", arguments.out, "folder of the reports (default: reports/<time>)");
}

LocalOptions local_options(const RunArguments& arguments) {
  LocalOptions options;
  for (const std::string& model : arguments.models) add_model_path(options.models, model);
  if (arguments.reference != "transformers") {
    if (!std::filesystem::is_directory(arguments.reference)) {
      throw std::invalid_argument("--reference " + arguments.reference +
                                  ": expected transformers or a folder of recorded logits");
    }
    options.recorded = arguments.reference;
  }
  if (arguments.subject != "octlm") {
    options.subject = reference::command_words(arguments.subject);
    const std::string fault = reference::program_fault(options.subject);
    if (!fault.empty()) throw std::invalid_argument("--subject " + arguments.subject + ": " + fault);
  }
  options.subject_silence_s = arguments.subject_timeout_s;
  return options;
}

std::filesystem::path registered_folder() { return checkout_root() / "experiments" / "registered"; }

verify::RunInfo run_info(const std::string& command) {
  const auto checkout = verify::checkout_state(checkout_root());
  verify::RunInfo info;
  info.version = verify::version();
  info.commit = checkout.commit;
  info.dirty = checkout.dirty;
  info.code_sha256 = verify::code_sha256();
  info.command = command;
  info.environment = verify::machine_json();
  return info;
}

int run(const RunArguments& arguments, const std::string& command) {
  const LocalOptions local = local_options(arguments);
  const Environment environment = local_environment(local);
  const auto kinds = all_kinds(environment);

  std::vector<verify::RunItem> items;
  for (verify::Spec& spec : select_specs(registered_folder(), arguments.selection, kinds)) {
    auto experiment = verify::find_kind(spec.kind, kinds, spec.file.string()).read(spec);
    items.push_back({std::move(spec), std::move(experiment)});
  }

  verify::ConsoleReport console(std::cerr, std::cout, isatty(STDERR_FILENO) != 0);
  verify::RunOptions options;
  options.reports = checkout_root() / "reports";
  if (!arguments.out.empty()) options.out = arguments.out;
  options.devices = arguments.devices;
  options.require = arguments.require;
  options.info = run_info(command);
  options.more_reports = {&console};
  return verify::run(options, items).summary.exit_code;
}

// For the launcher: the checkpoints that it can make and that this selection lacks.
int print_missing_checkpoints(const RunArguments& arguments) {
  const LocalOptions local = local_options(arguments);
  const Environment environment = local_environment(local);
  std::set<std::string> missing;
  for (const auto& spec :
       select_specs(registered_folder(), arguments.selection, all_kinds(environment))) {
    if (!spec.has_part("model")) continue;
    const auto model = read_model(spec.part("model"));
    if (is_default_checkpoint(model.id) &&
        std::holds_alternative<verify::NotRun>(environment.find_checkpoint(model))) {
      missing.insert(model.id);
    }
  }
  for (const std::string& name : missing) std::cout << name << '\n';
  return verify::kExitPass;
}

}  // namespace

void add_run(CommandLine& line) {
  auto arguments = std::make_shared<RunArguments>();
  CLI::App* command = line.app.add_subcommand("run", "run experiments and write reports");
  add_options(*command, *arguments);
  command->callback([&action = line.action, arguments, text = line.text] {
    action = [arguments, text] { return run(*arguments, text); };
  });

  CLI::App* missing = line.app.add_subcommand("missing-checkpoints", "");
  missing->group("");  // for the launcher, not listed
  add_options(*missing, *arguments);
  missing->callback([&action = line.action, arguments] {
    action = [arguments] { return print_missing_checkpoints(*arguments); };
  });
}

}  // namespace octlm::experiments
