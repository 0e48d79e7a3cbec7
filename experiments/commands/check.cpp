// octlm check FILE: a dry run. Reads a spec as strictly as a run would, says what it asks for, what
// of that is here, and roughly what it would take. Computes nothing and registers nothing. Non-zero
// where a run would refuse it (2) or could not run it here (4).
#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <optional>

#include "experiments/commands/checked_spec.h"
#include "experiments/commands/commands.h"
#include "experiments/commands/dry_run.h"
#include "experiments/commands/history_text.h"
#include "experiments/commands/json_output.h"
#include "experiments/engines/checkpoint_store.h"
#include "experiments/kinds/kinds.h"
#include "experiments/kinds/model_experiment.h"
#include "formats/error.h"
#include "verify/ledger/registration.h"
#include "verify/ledger/standing.h"
#include "verify/report/escape.h"
#include "verify/runner.h"

namespace octlm::experiments {
namespace {

namespace fs = std::filesystem;

struct CheckArguments {
  std::string file;
  std::vector<std::string> models;
  bool json = false;
};

// What the ledger has of it, and what an amendment would be.
struct Standing {
  verify::Trust trust;
  std::string claimed;  // UTC, when the claim was made that it differs from; "" when it does not
  verify::Amendment changes;
};

Standing standing_of(const verify::Spec& spec) {
  const verify::Project project = this_project();
  const auto ledger = verify::read_ledger(project.ledger());
  verify::require_valid(ledger, project.ledger().string());
  const auto& chain = ledger.chain(spec.id);
  Standing standing{verify::standing(chain, spec.sha256), "", {}};
  const auto* claim = verify::claim_of(chain);
  if (claim == nullptr || claim->fields["spec"] == spec.raw) return standing;
  standing.claimed = claim->time;
  standing.changes = verify::changes_since(*claim, spec);
  return standing;
}

// A file that is called like an experiment is that experiment's.
std::string misnamed(const verify::Spec& spec) {
  const std::string stem = spec.file.stem().string();
  std::error_code error;
  const bool registered =
      fs::equivalent(fs::absolute(spec.file).parent_path(), this_project().registered(), error);
  if (stem == spec.id || (!registered && !verify::is_experiment_id(stem))) return "";
  return spec.file.string() + ": $.id: \"" + spec.id + "\" stands in a file that is called " +
         stem + ".json: rename one of them";
}

CheckedSpec read_checked(const fs::path& file) {
  CheckedSpec checked = checked_spec(file, all_kinds());
  const std::string finding = misnamed(checked.spec);
  if (!finding.empty()) throw formats::FormatError(finding);
  return checked;
}

// What nobody can run here. A checkpoint that the launcher makes when it is needed is no obstacle.
bool runs_here(const CheckedSpec& checked, const DryRun& found) {
  const auto* experiment = about_a_model(*checked.experiment);
  const bool made = experiment != nullptr && is_default_checkpoint(experiment->model().id);
  return found.findings.empty() && (found.absent.empty() || made);
}

std::map<std::string, int> count_by_device(const CheckedSpec& checked) {
  std::map<std::string, int> count;
  for (const auto& key : checked.plan) ++count[key.device];
  return count;
}

void print(const CheckedSpec& checked, const Standing& standing, const DryRun& found) {
  const verify::Spec& spec = checked.spec;
  std::cout << spec.id << ": " << spec.kind << ", " << spec.criteria.size() << " criteria";
  for (const auto& [device, count] : count_by_device(checked))
    std::cout << ", " << count << " comparisons on " << device;
  std::cout << "\nsha256 " << spec.sha256 << '\n'
            << standing.trust.label << (standing.trust.why.empty() ? "" : ": ")
            << standing.trust.why << '\n';
  if (!standing.claimed.empty()) {
    std::cout << "since " << standing.claimed << " it changed, a " << standing.changes.class_name()
              << ":\n"
              << changes_text(standing.changes, "  ");
  }
  if (found.checkpoint) std::cout << "checkpoint: " << found.checkpoint->string() << '\n';
  if (found.estimate) std::cout << "estimate: " << estimate_text(*found.estimate) << '\n';
  for (const std::string& place : spec.to_be_written)
    std::cout << "to be written: " << place << '\n';
}

// What a run would break on, a finding a line; nothing when it would not.
void print_obstacles(const CheckedSpec& checked, const DryRun& found) {
  const std::string file = checked.spec.file.string();
  for (const std::string& finding : found.findings)
    std::cerr << "octlm: " << file << ": " << verify::for_terminal_lines(finding) << '\n';
  if (!found.absent.empty())
    std::cerr << "octlm: " << file
              << ": $.model: not here: " << verify::for_terminal_lines(found.absent) << '\n';
}

nlohmann::ordered_json json_of(const CheckedSpec& checked, const Standing& standing,
                               const DryRun& found) {
  const verify::Spec& spec = checked.spec;
  nlohmann::ordered_json json = {{"file", spec.file.string()},
                                 {"id", spec.id},
                                 {"kind", spec.kind},
                                 {"sha256", spec.sha256},
                                 {"label", standing.trust.label},
                                 {"why", standing.trust.why},
                                 {"criteria", spec.criteria.size()},
                                 {"comparisons", count_by_device(checked)},
                                 {"changes", standing.changes.changes_json()},
                                 {"to_be_written", spec.to_be_written},
                                 {"checkpoint", nullptr},
                                 {"absent", found.absent},
                                 {"estimate", nullptr},
                                 {"findings", found.findings}};
  if (found.checkpoint) json["checkpoint"] = found.checkpoint->string();
  if (found.estimate)
    json["estimate"] = {{"seconds", found.estimate->seconds}, {"bytes", found.estimate->bytes}};
  return json;
}

int refused(const CheckArguments& arguments, const formats::FormatError& error) {
  if (!arguments.json) throw error;
  print_document(std::cout, {{"file", spec_file(arguments.file).string()},
                             {"findings", error.findings()},
                             {"exit_code", int{verify::kExitRefused}}});
  return verify::kExitRefused;
}

int check(const CheckArguments& arguments) {
  ModelPaths paths;
  for (const std::string& model : arguments.models) add_model_path(paths, model);
  std::optional<CheckedSpec> checked;
  try {
    checked = read_checked(spec_file(arguments.file));
  } catch (const formats::FormatError& error) {
    return refused(arguments, error);
  }
  const Standing standing = standing_of(checked->spec);
  const DryRun found = dry_run(*checked, paths);
  const bool runs = runs_here(*checked, found);
  const int exit_code = runs ? verify::kExitPass : verify::kExitError;
  if (arguments.json) {
    auto json = json_of(*checked, standing, found);
    json["exit_code"] = exit_code;
    print_document(std::cout, json);
    return exit_code;
  }
  print(*checked, standing, found);
  if (!runs) print_obstacles(*checked, found);
  return exit_code;
}

}  // namespace

void add_check(CommandLine& line) {
  auto arguments = std::make_shared<CheckArguments>();
  CLI::App* command = line.app.add_subcommand("check", "read a spec as a run would; run nothing");
  command->add_option("file", arguments->file, "the spec")->required();
  command->add_option("--model", arguments->models, "NAME=PATH: the checkpoint folder of a model")
      ->allow_extra_args(false);
  command->add_flag("--json", arguments->json, "one JSON document on stdout");
  command->callback(
      [&action = line.action, arguments] { action = [arguments] { return check(*arguments); }; });
}

}  // namespace octlm::experiments
