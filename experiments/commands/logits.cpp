// octlm logits: a filter, so that anybody can check the decoder with their own tools.
//   stdin   {"ids": [1, 2, 3], "positions": [2]}        positions: all when absent
//   stdout  {"name": "logits.0", "shape": [1, 49152]}   one each; N is the line's number
//   --out   a safetensors file with those tensors, float32
// A bad line gives {"error"} and no tensor; the others go on, and the exit code is 4.
// With --capabilities a line that says what this engine can do comes first, before anything is
// loaded, and each answer holds the calls made: docs/logits-filter.md, the contract that
// `run --subject` speaks. With --session it stays and is appended to, a line each.
#include <array>
#include <filesystem>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>

#include "experiments/commands/commands.h"
#include "experiments/commands/filter.h"
#include "experiments/commands/logits_file.h"
#include "experiments/engines/checkpoint_store.h"
#include "experiments/engines/local_environment.h"
#include "experiments/engines/octlm_engine.h"
#include "experiments/kinds/spec_parts.h"
#include "formats/json_reader.h"
#include "reference/split.h"

namespace octlm::experiments {
namespace {

struct LogitsArguments {
  std::string model;
  std::string dtype = "float32";
  std::string device = "cpu";
  std::string path = "full";
  std::string out;
  bool capabilities = false;
  bool session = false;
};

reference::LogitRequest read_request(const formats::Reader& line, const reference::Split& path) {
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
  const auto pass = engine.start(request);
  const auto positions = static_cast<std::int64_t>(
      request.positions.empty() ? request.token_ids.size() : request.positions.size());
  file.begin(name, positions, engine.vocab_size());
  try {
    FileSink sink(file);
    while (pass->advance(sink)) {
    }
  } catch (...) {
    file.drop();
    throw;
  }
  nlohmann::json reply = {{"name", name}, {"shape", {positions, engine.vocab_size()}}};
  for (const auto& call : pass->calls()) {
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
          {"paths", capabilities.paths},
          {"session", true}};
}

std::unique_ptr<reference::Engine> open_engine(const LogitsArguments& arguments,
                                               const std::filesystem::path& folder) {
  return opened([&] {
    return make_octlm_engine({.folder = folder,
                              .dtype = arguments.dtype,
                              .device = arguments.device,
                              .threads = available_cpus(),
                              .instruction_set = ""});
  });
}

// One append of a session, as its line asks for it.
struct AppendRequest {
  std::vector<std::int32_t> ids;
  std::int64_t keep = 0;                // positions of the sequence so far that go before them
  std::int64_t capacity = 0;            // of a new sequence; 0 = the model's
  std::vector<std::int64_t> positions;  // wanted
  std::string out;
};

AppendRequest read_append(const formats::Reader& line) {
  AppendRequest request;
  line.object([&](formats::ObjectReader& members) {
    request.ids = read_token_ids(members.required("ids"));
    request.keep = members.required("keep").integer(0);
    if (const auto capacity = members.optional("capacity")) request.capacity = capacity->integer(1);
    request.out = members.required("out").non_empty_string();
    if (const auto positions = members.optional("positions")) {
      for (const auto& item : positions->non_empty_array())
        request.positions.push_back(item.integer(0));
    } else {
      request.positions.resize(request.ids.size());
      std::iota(request.positions.begin(), request.positions.end(), request.keep);
    }
  });
  return request;
}

// The sequence that a session is about, and the engine's session that holds it.
class Sequence {
 public:
  // Nothing is written over a file of the checkpoint's folder.
  Sequence(reference::Engine& engine, std::filesystem::path checkpoint)
      : engine_(engine), checkpoint_{std::move(checkpoint)} {}

  nlohmann::json append(const AppendRequest& request) {
    if (request.keep == 0) {
      session_ = engine_.open_session({.capacity = request.capacity});
    } else if (!session_ || request.keep > session_->length()) {
      throw std::invalid_argument("\"keep\" is " + std::to_string(request.keep) +
                                  ", and the sequence has " +
                                  std::to_string(session_ ? session_->length() : 0) + " positions");
    }
    LogitsFile file(request.out, checkpoint_);
    session_->crop(request.keep);
    const std::size_t calls_before = session_->calls().size();
    session_->begin(request.ids, request.positions);
    file.begin("logits.0", std::ssize(request.positions), engine_.vocab_size());
    FileSink sink(file);
    while (session_->deliver(sink)) {
    }
    file.finish();
    nlohmann::json reply = {{"name", "logits.0"},
                            {"shape", {request.positions.size(), engine_.vocab_size()}}};
    for (std::size_t i = calls_before; i < session_->calls().size(); ++i) {
      const auto& call = session_->calls()[i];
      reply["calls"].push_back({call.first_position, call.positions});
    }
    return reply;
  }

 private:
  reference::Engine& engine_;
  std::array<std::filesystem::path, 1> checkpoint_;
  std::unique_ptr<reference::Session> session_;
};

int serve_session(const LogitsArguments& arguments) {
  if (!arguments.out.empty()) {
    throw std::invalid_argument("--session writes to the \"out\" of each line: no --out is taken");
  }
  print_line(std::cout, capabilities_line());
  const auto folder = resolve_model_argument(arguments.model);
  const auto engine = open_engine(arguments, folder);
  print_line(std::cout, {{"ready", true}});
  Sequence sequence(*engine, folder);
  return run_filter(std::cin, std::cout, [&](const formats::Reader& line, std::int64_t) {
    return sequence.append(read_append(line));
  });
}

int logits(const LogitsArguments& arguments) {
  if (arguments.session) return serve_session(arguments);
  if (arguments.out.empty()) throw std::invalid_argument("--out is required");
  const auto path = reference::Split::parse(arguments.path);
  if (arguments.capabilities) print_line(std::cout, capabilities_line());
  const std::array folder = {resolve_model_argument(arguments.model)};
  LogitsFile file(arguments.out, folder);
  const auto engine = open_engine(arguments, folder.front());
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
  command->add_option("--out", arguments->out, "the safetensors file to write");
  command->add_option("--dtype", arguments->dtype, "float32, or float64 (plain loops)");
  command->add_option("--device", arguments->device, "cpu");
  command->add_option("--path", arguments->path, "full, cached:half, cached:every, chunked:N");
  command->add_flag(
      "--capabilities", arguments->capabilities,
      "first a line {name, version, dtypes, devices, paths, session}; answers hold the calls made");
  command->add_flag(
      "--session", arguments->session,
      "stay: after {\"ready\"} a line {\"ids\", \"keep\", \"out\", ...} is one append");
  command->callback(
      [&action = line.action, arguments] { action = [arguments] { return logits(*arguments); }; });
}

}  // namespace octlm::experiments
