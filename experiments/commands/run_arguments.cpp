#include "experiments/commands/run_arguments.h"

#include <algorithm>
#include <filesystem>
#include <stdexcept>

#include "experiments/commands/checked_spec.h"
#include "experiments/commands/octlm_program.h"
#include "experiments/commands/selection.h"
#include "experiments/kinds/model_experiment.h"
#include "formats/folder_lock.h"
#include "formats/nearest_name.h"
#include "formats/shell_words.h"
#include "reference/process/command_words.h"
#include "reference/process/process.h"
#include "verify/run_file.h"

namespace octlm::experiments {
namespace {

namespace fs = std::filesystem;

void add_selection_options(CLI::App& command, RunArguments& arguments) {
  command.add_option("experiments", arguments.selection,
                     "EXP-ID, GLOB, spec FILE or tag:TAG; none: every one not tagged slow");
  command.add_option("-k", arguments.keywords,
                     "of these only those whose id, title, tags or kind match: words, and, or, "
                     "not, ( )");
  command.add_flag("--last-failed", arguments.last_failed,
                   "of these only those that failed or broke in the newest run of reports/");
  command.add_option("--model", arguments.models, "NAME=PATH: the checkpoint folder of a model")
      ->allow_extra_args(false);
  command.add_option("--device", arguments.devices, "only this device")
      ->check(CLI::IsMember({"cpu", "cuda"}))
      ->allow_extra_args(false);
}

void add_side_options(CLI::App& command, RunArguments& arguments) {
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
}

void add_report_options(CLI::App& command, RunArguments& arguments) {
  command.add_flag("--fail-fast", arguments.fail_fast,
                   "end after the first experiment that fails or breaks");
  command.add_option("--out", arguments.out, "folder of the reports (default: reports/<time>)");
  command.add_option("--resume", arguments.resume,
                     "folder of an interrupted run: go on with it, with its arguments");
  command.add_option("--junit", arguments.junit, "a copy of junit.xml there");
  command.add_flag("--open", arguments.open, "show report.html when the run has ended");
  command.add_flag("--dry-run", arguments.dry_run, "say what would be run and what is missing");
}

std::string absolute(const std::string& path) { return fs::absolute(path).string(); }

// Where claims stand it is known by its id.
std::string name_of(const verify::Spec& spec) {
  std::error_code error;
  const bool claim = fs::equivalent(spec.file, spec_file(spec.id), error) && !error;
  return claim ? spec.id : absolute(spec.file.string());
}

std::string free_folder(const std::string& used) {
  const fs::path folder = fs::path(used + "/").parent_path();  // without a slash at its end
  for (int n = 2;; ++n) {
    const std::string next = folder.string() + "-" + std::to_string(n);
    if (!fs::exists(next)) return next;
  }
}

}  // namespace

void add_run_options(CLI::App& command, RunArguments& arguments) {
  add_selection_options(command, arguments);
  add_side_options(command, arguments);
  add_report_options(command, arguments);
}

nlohmann::json request_json(const RunArguments& arguments,
                            const std::vector<verify::RunItem>& items) {
  std::vector<std::string> selection, models;
  if (!arguments.keywords.empty() || arguments.last_failed) {
    for (const verify::RunItem& item : items) selection.push_back(name_of(item.spec));
  } else {
    for (const auto& one : arguments.selection)
      selection.push_back(is_file(one) ? absolute(one) : one);
  }
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
          {"directory", std::filesystem::current_path().string()},  // where its words were typed
          {"subject_timeout_s", arguments.subject_timeout_s},
          {"reference", recorded ? absolute(arguments.reference) : arguments.reference},
          {"fail_fast", arguments.fail_fast}};
}

RunArguments resumed_arguments(const RunArguments& given) {
  if (given.resume.empty()) return given;
  RunArguments only;
  only.resume = given.resume;
  only.junit = given.junit;
  only.open = given.open;
  only.dry_run = given.dry_run;
  const bool more = !given.selection.empty() || !given.models.empty() || !given.devices.empty() ||
                    !given.require.empty() || given.reference != only.reference ||
                    !given.out.empty() || given.subject != only.subject ||
                    !given.keywords.empty() || given.last_failed || given.fail_fast;
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
    only.fail_fast = request.value("fail_fast", false);  // older records have no such word
  } catch (const nlohmann::json::exception&) {
    throw std::invalid_argument(given.resume + ": does not say with which arguments it was run");
  }
  return only;
}

std::string run_command(const RunArguments& arguments) {
  const RunArguments plain;
  std::string text = octlm_program().launcher + " run";
  const auto add = [&](const std::string& word) { text += " " + formats::shell_quoted(word); };
  const auto option = [&](const char* name, const std::string& value, const std::string& absent) {
    if (value != absent) add(name), add(value);
  };
  for (const std::string& one : arguments.selection) add(one);
  option("-k", arguments.keywords, "");
  if (arguments.last_failed) add("--last-failed");
  for (const std::string& one : arguments.models) option("--model", one, "");
  for (const std::string& one : arguments.devices) option("--device", one, "");
  option("--subject", arguments.subject, plain.subject);
  if (arguments.subject_timeout_s != plain.subject_timeout_s)
    option("--subject-timeout", nlohmann::json(arguments.subject_timeout_s).dump(), "");
  option("--reference", arguments.reference, plain.reference);
  for (const std::string& one : arguments.require) option("--require", one, "");
  if (arguments.fail_fast) add("--fail-fast");
  option("--out", arguments.out, "");
  option("--resume", arguments.resume, "");
  option("--junit", arguments.junit, "");
  if (arguments.open) add("--open");
  if (arguments.dry_run) add("--dry-run");
  return text;
}

LocalOptions local_options(const RunArguments& arguments) {
  LocalOptions options;
  for (const std::string& model : arguments.models) add_model_path(options.models, model);
  if (arguments.reference != "transformers") {
    if (!fs::is_directory(arguments.reference)) {
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

void refuse_used_out(const RunArguments& arguments) {
  std::error_code error;
  if (arguments.out.empty() || !fs::exists(fs::path(arguments.out) / "results.jsonl", error))
    return;
  if (const auto busy = formats::at_work_in(arguments.out)) throw verify::Refused(*busy);
  RunArguments other = arguments, same;
  other.out = free_folder(arguments.out);
  same.resume = arguments.out;
  throw verify::Refused(arguments.out +
                        ": holds the results of another run; if it was interrupted, go on with "
                        "it: " +
                        run_command(same) + "; or write elsewhere: " + run_command(other));
}

void refuse_bad_junit(const RunArguments& arguments) {
  if (arguments.junit.empty()) return;
  const fs::path file = arguments.junit;
  const fs::path folder = file.has_parent_path() ? file.parent_path() : ".";
  std::error_code error;
  if (!fs::is_directory(folder, error))
    throw verify::Refused("--junit " + arguments.junit + ": there is no folder " + folder.string() +
                          "; make it first");
  if (fs::exists(file, error) && !fs::is_regular_file(file, error))
    throw verify::Refused("--junit " + arguments.junit + ": is no regular file; name another");
}

void refuse_unused_models(const LocalOptions& local, const std::vector<verify::RunItem>& items) {
  std::vector<std::string> used;
  for (const verify::RunItem& item : items) {
    const ModelExperiment* experiment = about_a_model(*item.experiment);
    if (experiment == nullptr) continue;
    const std::string& id = experiment->model().id;
    if (std::ranges::find(used, id) == used.end()) used.push_back(id);
  }
  for (const auto& [name, folder] : local.models) {
    if (std::ranges::find(used, name) != used.end()) continue;
    throw verify::Refused("--model " + name + "=" + folder.string() +
                          ": no selected experiment is about \"" + name + "\"" +
                          formats::suggestion(name, used));
  }
}

}  // namespace octlm::experiments
