// octlm record SPEC --out DIR: computes the reference's side of an experiment and saves it, for
// `run --reference DIR` where PyTorch is not installed, or too slow to be run twice.
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <optional>

#include "experiments/commands/checked_spec.h"
#include "experiments/commands/commands.h"
#include "experiments/commands/inputs.h"
#include "experiments/commands/selection.h"
#include "experiments/engines/checkpoint_store.h"
#include "experiments/engines/local_environment.h"
#include "experiments/kinds/kinds.h"
#include "experiments/kinds/model_experiment.h"
#include "experiments/kinds/sides.h"
#include "formats/folder_lock.h"
#include "formats/output_file.h"
#include "reference/recorded/recorded.h"
#include "verify/runner.h"

namespace octlm::experiments {
namespace {

struct RecordArguments {
  std::string spec;
  std::vector<std::string> models;
  std::string device = "cpu";
  std::string out;
};

verify::RunItem read_one(const RecordArguments& arguments) {
  const auto kinds = all_kinds();
  auto specs = select_specs(this_project().registered(), {arguments.spec}, kinds);
  if (specs.size() != 1) {
    throw std::invalid_argument("record " + arguments.spec + ": names " +
                                std::to_string(specs.size()) +
                                " experiments; a recording is of one");
  }
  return verify::read_item(std::move(specs.front()), kinds);
}

// Their ids, each sequence once: two cases may be of the same.
std::vector<std::vector<std::int32_t>> sequences(const std::vector<TokenCase>& cases) {
  std::vector<std::vector<std::int32_t>> all;
  for (const TokenCase& token_case : cases) {
    if (std::ranges::find(all, token_case.token_ids) == all.end())
      all.push_back(token_case.token_ids);
  }
  return all;
}

// On a terminal one line that changes, otherwise a line for each.
void show_progress(std::size_t done, std::size_t total) {
  const bool terminal = isatty(STDERR_FILENO) != 0;
  std::cerr << (terminal ? "\r" : "") << "[record] " << done << " of " << total << " sequences"
            << (terminal && done < total ? "" : "\n") << std::flush;
}

// Nothing that a recording's files would replace is one of the inputs.
void require_no_recorded_input(const std::filesystem::path& folder,
                               const std::vector<std::filesystem::path>& inputs) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("logits.") || name == "manifest.json")
      formats::require_no_input(entry.path(), inputs);
  }
}

// The folder of a recording in the making: ours alone, and gone again when nothing came of it.
class RecordingFolder {
 public:
  explicit RecordingFolder(std::filesystem::path folder)
      : folder_(std::move(folder)), made_(std::filesystem::create_directories(folder_)) {
    lock_.emplace(folder_);
    if (std::filesystem::exists(folder_ / "manifest.json"))
      throw std::invalid_argument("record --out " + folder_.string() +
                                  ": already holds a recording");
  }
  ~RecordingFolder() {
    lock_.reset();
    std::error_code not_empty;
    if (made_) std::filesystem::remove(folder_, not_empty);
  }
  RecordingFolder(const RecordingFolder&) = delete;
  RecordingFolder& operator=(const RecordingFolder&) = delete;

 private:
  std::filesystem::path folder_;
  bool made_;
  std::optional<formats::FolderLock> lock_;
};

int record(const RecordArguments& arguments) {
  LocalOptions local;
  for (const std::string& model : arguments.models) add_model_path(local.models, model);
  std::vector<verify::RunItem> items;
  items.push_back(read_one(arguments));
  const verify::Spec& spec = items.front().spec;
  const auto* experiment = about_a_model(*items.front().experiment);
  if (experiment == nullptr || experiment->logit_reference() == nullptr) {
    throw std::invalid_argument("record " + spec.id + ": a " + spec.kind +
                                " has no reference to record");
  }
  const ModelReference& model = experiment->model();
  const ReferencePart& part = *experiment->logit_reference();
  if (model.files.empty()) {
    throw std::invalid_argument(
        "record " + spec.id + ": its model names no \"files\": a recording must know its weights");
  }

  require_no_recorded_input(arguments.out, inputs_of(items, local));

  const RecordingFolder folder(arguments.out);
  const Environment environment = local_environment(local);
  auto opened = open_sides<reference::Engine>(
      environment, {.model = model,
                    .reference = reference_side(environment, model, part, arguments.device),
                    .cases = experiment->sequences()});
  if (const auto* absent = std::get_if<verify::NotRun>(&opened))
    throw std::runtime_error(absent->reason);
  const auto& sides = std::get<Sides<reference::Engine>>(opened);
  const auto cases = sequences(sides.cases);
  auto& engine = *sides.reference;

  std::int64_t positions = 0;
  for (const auto& ids : cases) positions += std::ssize(ids);
  std::cerr << "[record] " << spec.id << ": " << cases.size() << " sequences, " << positions
            << " positions, " << 4 * positions * engine.vocab_size() / 1000000 << " MB\n";
  const auto key = recording_key(model, part.dtype, part.attention, part.tf32);
  reference::record_logits(engine, key, cases, arguments.out, show_progress);
  std::cout << arguments.out << '\n';
  return verify::kExitPass;
}

}  // namespace

void add_record(CommandLine& line) {
  auto arguments = std::make_shared<RecordArguments>();
  CLI::App* command =
      line.app.add_subcommand("record", "save the reference's logits of an experiment");
  command->add_option("experiment", arguments->spec, "EXP-ID or spec FILE")->required();
  command->add_option("--out", arguments->out, "the folder of the recording")->required();
  command->add_option("--model", arguments->models, "NAME=PATH: the checkpoint folder of a model")
      ->allow_extra_args(false);
  command->add_option("--device", arguments->device, "where the reference computes: cpu or cuda")
      ->check(CLI::IsMember({"cpu", "cuda"}));
  command->callback(
      [&action = line.action, arguments] { action = [arguments] { return record(*arguments); }; });
}

}  // namespace octlm::experiments
