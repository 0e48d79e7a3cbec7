// octlm logits: a filter, so that anybody can check the decoder with their own tools.
//   stdin   {"ids": [1, 2, 3], "positions": [2]}        positions: all when absent
//   stdout  {"name": "logits.0", "shape": [1, 49152]}   one each; N is the line's number
//   --out   a safetensors file with those tensors, float32
// A bad line gives {"error"} and no tensor; the others go on, and the exit code is 4.
// With --capabilities a line that says what this engine can do comes first, before anything is
// loaded, and each answer holds the calls made: docs/logits-filter.md, the contract that
// `run --subject` speaks.
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "experiments/commands/commands.h"
#include "experiments/commands/filter.h"
#include "experiments/commands/logits_file.h"
#include "experiments/engines/checkpoint_store.h"
#include "experiments/engines/local_environment.h"
#include "experiments/engines/octlm_engine.h"
#include "experiments/kinds/spec_parts.h"
#include "formats/json_reader.h"
#include "reference/path.h"

namespace octlm::experiments {
namespace {

struct LogitsArguments {
  std::string model;
  std::string dtype = "float32";
  std::string device = "cpu";
  std::string path = "full";
  std::string out;
  bool capabilities = false;
};

reference::LogitRequest read_request(const formats::Reader& line, const reference::Path& path) {
  reference::LogitRequest request{.token_ids = {}, .path = path, .positions = {}};
  line.object([&](formats::ObjectReader& members) {
    request.token_ids = read_token_ids(members.required("ids"));
    if (const auto positions = members.optional("positions")) {
      for (const auto& item : positions->non_empty_array()) {
        const std::int64_t least = request.positions.empty() ? 0 : request.positions.back() + 1;
        request.positions.push_back(item.integer(least, std::ssize(request.token_ids) - 1));
      }
    }
  });
  return request;
}

class FileSink final : public reference::LogitSink {
 public:
  explicit FileSink(LogitsFile& file) : file_(file) {}
  void receive(const reference::LogitBlock& block) override {
    file_.append(block.logits, std::ssize(block.positions) * block.vocab);
  }

 private:
  LogitsFile& file_;
};

// One line's tensor; takes it back when the engine fails in the middle.
nlohmann::json answer(const reference::LogitRequest& request, const std::string& name,
                      reference::Engine& engine, LogitsFile& file, bool with_calls) {
  const auto session = engine.start(request);
  const auto positions = static_cast<std::int64_t>(
      request.positions.empty() ? request.token_ids.size() : request.positions.size());
  file.begin(name, positions, engine.vocab_size());
  try {
    FileSink sink(file);
    while (session->advance(sink)) {
    }
  } catch (...) {
    file.drop();
    throw;
  }
  nlohmann::json reply = {{"name", name}, {"shape", {positions, engine.vocab_size()}}};
  for (const auto& call : session->calls()) {
    if (with_calls) reply["calls"].push_back({call.first_position, call.positions});
  }
  return reply;
}

nlohmann::json capabilities_line() {
  const auto capabilities = octlm_capabilities();
  return {{"name", "octlm"},
          {"version", octlm_version()},
          {"dtypes", capabilities.dtypes},
          {"devices", capabilities.devices},
          {"paths", capabilities.paths}};
}

int logits(const LogitsArguments& arguments) {
  const auto path = reference::Path::parse(arguments.path);
  if (arguments.capabilities) print_line(std::cout, capabilities_line());
  LogitsFile file(arguments.out);
  const auto engine = make_octlm_engine({.folder = resolve_model_argument(arguments.model),
                                         .dtype = arguments.dtype,
                                         .device = arguments.device,
                                         .threads = available_cpus(),
                                         .instruction_set = ""});
  const int exit_code =
      run_filter(std::cin, std::cout, [&](const formats::Reader& line, std::int64_t number) {
        return answer(read_request(line, path), "logits." + std::to_string(number), *engine, file,
                      arguments.capabilities);
      });
  file.finish();
  return exit_code;
}

}  // namespace

void add_logits(CommandLine& line) {
  auto arguments = std::make_shared<LogitsArguments>();
  CLI::App* command = line.app.add_subcommand(
      "logits", "JSON lines {\"ids\", \"positions\"?} on stdin -> logits in a safetensors file");
  command->add_option("--model", arguments->model, "checkpoint folder, or a name in the cache")
      ->required();
  command->add_option("--out", arguments->out, "the safetensors file to write")->required();
  command->add_option("--dtype", arguments->dtype, "float32, or float64 (the definition)");
  command->add_option("--device", arguments->device, "cpu");
  command->add_option("--path", arguments->path, "full, cached:half, cached:every, chunked:N");
  command->add_flag(
      "--capabilities", arguments->capabilities,
      "first a line {name, version, dtypes, devices, paths}; answers hold the calls made");
  command->callback(
      [&action = line.action, arguments] { action = [arguments] { return logits(*arguments); }; });
}

}  // namespace octlm::experiments
