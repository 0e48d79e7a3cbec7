// octlm new KIND --model PATH|NAME: a spec to start from, which already passes `octlm check`. JSON
// has no comments, so what is yours to replace says so in its own text.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iostream>
#include <memory>
#include <stdexcept>

#include "experiments/commands/checked_spec.h"
#include "experiments/commands/commands.h"
#include "experiments/commands/new_spec.h"
#include "experiments/engines/checkpoint_store.h"
#include "experiments/engines/local_environment.h"
#include "experiments/kinds/kinds.h"
#include "formats/shell_words.h"
#include "verify/runner.h"

namespace octlm::experiments {
namespace {

namespace fs = std::filesystem;

struct NewArguments {
  std::string kind;
  std::string model;
  std::string id;
  std::string out;
};

constexpr std::int64_t kExamples = 9000;  // ids from here on are those of examples/

fs::path registered_folder() { return this_project().registered(); }

// The number of an id like the project's own; 0 of any other.
std::int64_t number_of(const std::string& id) {
  const std::string digits = id.starts_with("EXP-") ? id.substr(4) : "";
  const bool good = !digits.empty() && digits.size() < 10 &&
                    digits.find_first_not_of("0123456789") == std::string::npos;
  return good ? std::stoll(digits) : 0;
}

// One above the highest in use: by a file, or by a line of the ledger (an experiment may be
// withdrawn).
std::string free_id() {
  std::int64_t highest = 100;
  const auto see = [&](const std::string& id) {
    if (number_of(id) < kExamples) highest = std::max(highest, number_of(id));
  };
  if (fs::is_directory(registered_folder())) {
    for (const auto& file : fs::directory_iterator(registered_folder()))
      see(file.path().stem().string());
  }
  std::ifstream ledger(this_project().ledger());
  for (std::string line; std::getline(ledger, line);) {
    for (std::size_t at = line.find("\"EXP-"); at != std::string::npos;
         at = line.find("\"EXP-", at + 1)) {
      see(line.substr(at + 1, line.find('"', at + 1) - at - 1));
    }
  }
  return "EXP-" + std::to_string(highest + 1);
}

// The kind, which has a starting point.
const verify::Kind& starting_kind(const std::string& name, const std::vector<verify::Kind>& kinds) {
  const verify::Kind& kind = verify::find_kind(name, kinds, "octlm new");
  if (kind.start) return kind;
  throw std::invalid_argument(
      "octlm new: " + name + " has no starting point of its own; copy a spec of that kind from " +
      registered_folder().string() + " and give it a new id, for example " + free_id());
}

// Appears whole, and never in place of another.
void write_new(const fs::path& file, const std::string& text) {
  const int descriptor = open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (descriptor < 0) {
    const std::string why =
        errno == EEXIST ? "is there already, and is not overwritten" : std::strerror(errno);
    throw std::invalid_argument(file.string() + ": " + why);
  }
  const bool written =
      write(descriptor, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  if (close(descriptor) != 0 || !written) {
    fs::remove(file);
    throw std::runtime_error(file.string() + " cannot be written");
  }
}

// Where an editor finds the schema, from the spec's folder; "" outside of the checkout.
std::string schema_for(const fs::path& file) {
  const fs::path root = this_project().root;
  const fs::path inside = fs::absolute(file).lexically_normal().lexically_relative(root);
  if (inside.empty() || *inside.begin() == "..") return "";
  return (root / "docs" / "spec.schema.json")
      .lexically_relative(fs::absolute(file).lexically_normal().parent_path())
      .string();
}

// " --model NAME=DIR": where the run will not find the model by its name alone.
std::string model_option(const nlohmann::ordered_json& model, const std::string& argument) {
  const ModelReference reference{
      .id = model.value("id", ""), .revision = model.value("revision", ""), .files = {}};
  const auto found = find_checkpoint(reference, {});
  const auto* cached = std::get_if<CheckpointFolder>(&found);
  const fs::path folder = resolve_model_argument(argument);
  if (cached != nullptr && fs::equivalent(cached->path, folder)) return "";
  const fs::path given = fs::is_directory(argument) ? fs::path(argument) : folder;
  return " --model " + formats::shell_quoted(reference.id + "=" + given.string());
}

int create(const NewArguments& arguments) {
  const auto kinds = all_kinds();
  const verify::Kind& kind = starting_kind(arguments.kind, kinds);
  const std::string id = arguments.id.empty() ? free_id() : arguments.id;
  const fs::path standard =
      (registered_folder() / (id + ".json")).lexically_proximate(fs::current_path());
  const fs::path file = arguments.out.empty() ? standard : fs::path(arguments.out);
  if (fs::exists(file))
    throw std::invalid_argument(file.string() + ": is there already, and is not overwritten");
  const auto spec = new_spec(kind, id, arguments.model, schema_for(file));
  const std::string text = spec.dump(2) + "\n";
  (void)kind.read(verify::parse_spec(text, file, kinds));  // an id that is none is refused here
  write_new(file, text);
  const std::string model = model_option(spec["model"], arguments.model);
  std::cerr << "Wrote " << id << " to " << file.string()
            << ". What says REPLACE is yours: the question, the prediction,\n"
            << "the cases, and for each bound its derivation. Then:\n"
            << "  ./octlm check " << formats::shell_file(file) << model << "\n";
  if (std::error_code error; !fs::equivalent(file, standard, error)) {
    std::cerr << "  mv " << formats::shell_file(file) << " " << formats::shell_file(standard)
              << "\n";
  }
  std::cerr << "  ./octlm register " << id << " --prior-results none\n"
            << "  ./octlm run " << id << model << "\n";
  std::cout << file.string() << '\n';
  return verify::kExitPass;
}

}  // namespace

void add_new(CommandLine& line) {
  auto arguments = std::make_shared<NewArguments>();
  CLI::App* command = line.app.add_subcommand("new", "write a spec to start from");
  command->add_option("kind", arguments->kind, "what it does; octlm list --kinds")->required();
  command->add_option("--model", arguments->model, "checkpoint folder, or a name in the cache")
      ->required();
  command->add_option("--id", arguments->id, "EXP-n (default: the next free one)");
  command->add_option("--out", arguments->out,
                      "the file (default: experiments/registered/ID.json)");
  command->callback(
      [&action = line.action, arguments] { action = [arguments] { return create(*arguments); }; });
}

}  // namespace octlm::experiments
