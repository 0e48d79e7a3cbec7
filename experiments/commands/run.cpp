// octlm run: the experiments a command line names, their verdicts, the reports.
#include <unistd.h>

#include <iostream>
#include <memory>
#include <set>
#include <sstream>

#include "experiments/commands/checked_spec.h"
#include "experiments/commands/commands.h"
#include "experiments/commands/inputs.h"
#include "experiments/commands/octlm_program.h"
#include "experiments/commands/selection.h"
#include "experiments/engines/local_environment.h"
#include "experiments/engines/octlm_engine.h"
#include "experiments/kinds/kinds.h"
#include "experiments/kinds/model_experiment.h"
#include "experiments/kinds/spec_parts.h"
#include "formats/standard_streams.h"
#include "reference/process/command_words.h"
#include "reference/process/process.h"
#include "reference/process/program_files.h"
#include "verify/ledger/publish.h"
#include "verify/provenance.h"
#include "verify/report/console.h"
#include "verify/run_file.h"
#include "verify/runner.h"

namespace octlm::experiments {
namespace {

struct RunArguments {
  std::vector<std::string> selection;
  std::vector<std::string> models;  // NAME=PATH
  std::vector<std::string> devices;
  std::vector<std::string> require;
  std::string subject = "octlm";
  double subject_timeout_s = 600;
  std::string reference = "transformers";
  std::string out;
  std::string resume;
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
  command
      .add_option("--subject-timeout", arguments.subject_timeout_s,
                  "seconds after which a command without a sign of life is stopped")
      ->check(CLI::PositiveNumber);
  command.add_option("--reference", arguments.reference,
                     "transformers, or a folder of recorded logits");
  command
      .add_option("--require", arguments.require,
                  "exit 4 when one of these is absent: weights, cuda, reference")
      ->delimiter(',')
      ->allow_extra_args(false);
  command.add_option("--out", arguments.out, "folder of the reports (default: reports/<time>)");
  command.add_option("--resume", arguments.resume,
                     "folder of an interrupted run: go on with it, with its arguments");
}

// What the run line keeps of the arguments. Paths are made absolute: a run may be resumed from
// elsewhere.
nlohmann::json request_json(const RunArguments& arguments) {
  const auto absolute = [](const std::string& path) {
    return std::filesystem::absolute(path).string();
  };
  std::vector<std::string> selection, models;
  for (const auto& one : arguments.selection)
    selection.push_back(is_file(one) ? absolute(one) : one);
  for (const auto& one : arguments.models) {
    const NamedFolder model = named_folder(one);
    models.push_back(model.name + "=" + model.folder.string());
  }
  const bool recorded = arguments.reference != "transformers";
  return {{"selection", selection},
          {"models", models},
          {"devices", arguments.devices},
          {"require", arguments.require},
          {"subject", arguments.subject},
          {"subject_timeout_s", arguments.subject_timeout_s},
          {"reference", recorded ? absolute(arguments.reference) : arguments.reference}};
}

// The arguments of the run that --resume names; nothing beside it may be given.
RunArguments resumed_arguments(const RunArguments& given) {
  RunArguments only;
  only.resume = given.resume;
  const bool more = !given.selection.empty() || !given.models.empty() || !given.devices.empty() ||
                    !given.require.empty() || given.reference != only.reference ||
                    !given.out.empty() || given.subject != only.subject;
  if (more) throw std::invalid_argument("--resume takes the arguments of the run: give it alone");
  const auto run = verify::read_run_file(given.resume).run();
  try {
    const auto& request = run.at("request");
    only.selection = request.at("selection");
    only.models = request.at("models");
    only.devices = request.at("devices");
    only.require = request.at("require");
    only.reference = request.at("reference");
    only.subject = request.at("subject");
    only.subject_timeout_s = request.at("subject_timeout_s");
  } catch (const nlohmann::json::exception&) {
    throw std::invalid_argument(given.resume + ": does not say with which arguments it was run");
  }
  return only;
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
    if (!fault.empty())
      throw std::invalid_argument("--subject " + arguments.subject + ": " + fault);
  }
  options.subject_silence_s = arguments.subject_timeout_s;
  return options;
}

std::vector<verify::RunItem> selected_items(const RunArguments& arguments) {
  const auto kinds = all_kinds();
  std::vector<verify::RunItem> items;
  for (auto& spec : select_specs(this_project().registered(), arguments.selection, kinds)) {
    items.push_back(verify::read_item(std::move(spec), kinds));
  }
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
  info.program = octlm_program();
  return info;
}

int run(const RunArguments& given, const std::string& command) {
  formats::discard_closed_output();  // the record is in the run's folder, the verdict is the code
  const RunArguments arguments = given.resume.empty() ? given : resumed_arguments(given);
  const LocalOptions local = local_options(arguments);
  const Environment environment = local_environment(local);
  auto items = selected_items(arguments);

  std::ostringstream table;  // printed when the verdict is known, which a full disk does not change
  verify::ConsoleReport console(std::cerr, table, isatty(STDERR_FILENO) != 0);
  verify::RunOptions options;
  options.reports = checkout_root() / "reports";
  if (!arguments.out.empty()) options.out = arguments.out;
  options.devices = arguments.devices;
  options.require = arguments.require;
  options.host = &environment;
  options.info = run_info(command);
  options.info.request = request_json(arguments);
  options.project = this_project();
  if (!local.subject.empty())
    options.info.subject_sha256 = reference::program_files(local.subject).sha256;
  if (!arguments.resume.empty()) options.resume = arguments.resume;
  options.more_reports = {&console};
  for (const auto& folder : {options.out, options.resume}) {
    if (folder) require_no_inputs(*folder, verify::kArtefacts, inputs_of(items, local));
  }
  const int exit_code = verify::run(options, items).summary.exit_code;
  std::cout << table.str();
  return exit_code;
}

// For the launcher: the checkpoints that it can make and that this selection lacks.
int print_missing_checkpoints(const RunArguments& given) {
  const RunArguments arguments = given.resume.empty() ? given : resumed_arguments(given);
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
