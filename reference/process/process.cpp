#include "reference/process/process.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "reference/recorded/logits_file.h"
#include "reference/request.h"
#include "reference/strict_json.h"
#include "reference/process/subprocess.h"

namespace octlm::reference {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::int64_t kBlockBytes = 48 << 20;
// The calls of 40,960 positions one by one take 0.6 MB.
constexpr std::size_t kLongestOutput = 4 << 20;
// Beside the logits: stderr, what a writer keeps.
constexpr std::int64_t kFolderBytes = std::int64_t{64} << 20;
constexpr std::int64_t kWidestVocab = 1 << 20;  // when the vocabulary is not known
constexpr std::size_t kStderrShown = 500;
constexpr std::size_t kLongestName = 100;

struct Greeting {
  std::string line;  // as it was written
  std::string name;
  std::string version;
  Capabilities capabilities;
};

// What the program has written.

// At most `most` bytes from the end or the start of a file; "" when there is none.
std::string read_some(const fs::path& file, std::size_t most, bool from_end) {
  std::ifstream stream(file, std::ios::binary | std::ios::ate);
  if (!stream) return "";
  const auto size = static_cast<std::size_t>(std::max<std::streamoff>(0, stream.tellg()));
  std::string text(std::min(size, most), '\0');
  stream.seekg(from_end ? static_cast<std::streamoff>(size - text.size()) : 0);
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(std::max<std::streamsize>(0, stream.gcount())));
  return text;
}

// One line of plain characters, whatever was in it.
std::string printable(std::string text) {
  std::string plain;
  for (const char c : text) {
    if (c == '\n' || c == '\r' || c == '\t') {
      if (!plain.empty() && plain.back() != ' ') plain += ' ';
    } else {
      plain += c >= ' ' && c <= '~' ? c : '?';
    }
  }
  while (!plain.empty() && plain.back() == ' ') plain.pop_back();
  return plain;
}

std::string excerpt(const std::string& line) {
  return "\"" + printable(line.substr(0, 80)) + (line.size() > 80 ? "..." : "") + "\"";
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

// The protocol (docs/logits-filter.md).

std::vector<std::string> read_list(const json& object, const char* key, const std::string& where) {
  std::vector<std::string> names;
  if (object.at(key).is_array()) {
    for (const json& name : object.at(key)) {
      if (name.is_string()) names.push_back(name.get<std::string>());
    }
  }
  if (names.empty() || names.size() != object.at(key).size()) {
    throw std::runtime_error(where + ": \"" + key + "\" is not a list of names");
  }
  return names;
}

std::string read_name(const json& object, const char* key, const std::string& where) {
  const std::string name = string_at(object, key, where);
  if (name.empty() || name.size() > kLongestName) {
    throw std::runtime_error(where + ": \"" + key + "\" has " + std::to_string(name.size()) +
                             " bytes, expected 1 to " + std::to_string(kLongestName));
  }
  return name;
}

Greeting read_greeting(const std::string& line) {
  const std::string where = "its first line " + excerpt(line) + ", where its capabilities belong";
  const json object = parse_object(line, where);
  check_keys(object, {"name", "version", "dtypes", "devices", "paths"}, where);
  Greeting greeting{line,
                    read_name(object, "name", where),
                    read_name(object, "version", where),
                    {read_list(object, "dtypes", where), read_list(object, "devices", where),
                     read_list(object, "paths", where)}};
  for (const std::string& path : greeting.capabilities.paths) {
    if (path != "full" && path != "cached:half" && path != "cached:every" && path != "chunked") {
      throw std::runtime_error(where + ": the path " + excerpt(path) +
                               " is not one of full, cached:half, cached:every, chunked");
    }
  }
  return greeting;
}

// Calls must cover the sequence in order. On the path `full` a program may take a long prompt in
// pieces, as long as it says so; on the others the split is what is asked for.
std::vector<ForwardCall> read_calls(const json& value, const LogitRequest& request,
                                    const std::string& where) {
  std::vector<ForwardCall> calls;
  std::int64_t next = 0;
  const auto n = static_cast<std::int64_t>(request.token_ids.size());
  bool good = value.is_array();
  for (const json& call : good ? value : json::array()) {
    good = good && call.is_array() && call.size() == 2;
    if (!good) break;
    calls.push_back({to_count(call[0], where), to_count(call[1], where)});
    good = calls.back().first_position == next && calls.back().positions >= 1 &&
           calls.back().positions <= n - next;
    if (!good) break;
    next += calls.back().positions;
  }
  good = good && next == n && (request.path.text() == "full" || calls == request.path.calls(n));
  if (!good) {
    throw std::runtime_error(where + ": its \"calls\" are not those of the path " +
                             request.path.text() + " for " + std::to_string(n) + " positions");
  }
  return calls;
}

struct Answer {
  std::int64_t vocab = 0;
  std::vector<ForwardCall> calls;
};

Answer read_answer(const std::string& line, const LogitRequest& request, std::int64_t rows,
                   std::int64_t vocab) {
  const std::string where = "its answer " + excerpt(line);
  const json object = parse_object(line, where);
  if (object.contains("error") && object.at("error").is_string()) {
    throw std::runtime_error("it refuses the request: " +
                             printable(object.at("error").get<std::string>()));
  }
  if (object.contains("calls")) {
    check_keys(object, {"name", "shape", "calls"}, where);
  } else {
    check_keys(object, {"name", "shape"}, where);
  }
  if (object.at("name") != "logits.0")
    throw std::runtime_error(where + ": expected the name \"logits.0\"");
  const json& shape = object.at("shape");
  const bool two = shape.is_array() && shape.size() == 2;
  const std::int64_t width = two ? to_count(shape[1], where) : 0;
  if (!two || to_count(shape[0], where) != rows || width < 1 || (vocab > 0 && width != vocab)) {
    throw std::runtime_error(where + ": expected the shape [" + std::to_string(rows) + ", " +
                             (vocab > 0 ? std::to_string(vocab) : "vocab") + "]");
  }
  return {width, object.contains("calls") ? read_calls(object.at("calls"), request, where)
                                          : std::vector<ForwardCall>{}};
}

// A run of the program.

struct Shared {
  ProcessOptions options;
  Greeting greeting;
  std::int64_t peak_bytes = 0;
};

std::vector<std::string> arguments(const ProcessOptions& options, const std::string& path,
                                   const fs::path& folder) {
  std::vector<std::string> argv = options.command;
  for (const std::string& word :
       {std::string("--model"), options.folder.string(), std::string("--dtype"), options.dtype,
        std::string("--device"), options.device, std::string("--path"), path, std::string("--out"),
        (folder / "logits.safetensors").string(), std::string("--capabilities")}) {
    argv.push_back(word);
  }
  return argv;
}

// Does `work`; whatever it throws becomes one sentence with the command and the end of its stderr.
template <class Work>
auto about(const ProcessOptions& options, const fs::path& folder, Work work) {
  try {
    return work();
  } catch (const std::exception& error) {
    std::string what = error.what();
    // A name that will not be there when this is read.
    const std::string in_folder = folder.string() + "/";
    for (std::size_t at; (at = what.find(in_folder)) != std::string::npos;)
      what.erase(at, in_folder.size());
    const std::string said = printable(read_some(folder / "stderr", kStderrShown, true));
    throw std::runtime_error(
        "[subject] " + joined(options.command) + ": " + what +
        (said.empty() ? "; it wrote nothing to stderr" : "; its stderr ends: " + said));
  }
}

Greeting ask_capabilities(const ProcessOptions& options) {
  const ScratchFolder folder;
  return about(options, folder.path(), [&] {
    std::ofstream(folder.path() / "stdin").flush();
    Subprocess program(arguments(options, "full", folder.path()), folder.path());
    std::string text;
    const auto has_line = [&] {
      text = read_some(folder.path() / "stdout", kLongestOutput, false);
      return text.find('\n') != std::string::npos;
    };
    const bool ended = program.wait({options.silence_s, kFolderBytes}, has_line);
    if (ended && !has_line()) {
      const std::string failure = program.failure();
      throw std::runtime_error("ended" + (failure.empty() ? "" : " with " + failure) +
                               " before its line of capabilities");
    }
    program.end();
    return read_greeting(text.substr(0, text.find('\n')));
  });
}

class ProcessSession final : public LogitSession {
 public:
  ProcessSession(std::shared_ptr<Shared> shared, LogitRequest request)
      : shared_(std::move(shared)),
        request_(std::move(request)),
        wanted_(wanted_positions(request_)) {
    about(shared_->options, folder_.path(), [&] { begin(); });
  }

  bool advance(LogitSink& sink) override {
    if (delivered_ == wanted_.size()) return false;
    std::size_t count = 0;
    about(shared_->options, folder_.path(), [&] {
      if (!reader_) finish();
      count = read_block();
    });
    const auto positions = std::span(wanted_).subspan(delivered_, count);
    delivered_ += count;
    sink.receive({positions, answer_.vocab, rows_.data()});
    return true;
  }

  const std::vector<ForwardCall>& calls() const override { return answer_.calls; }

 private:
  void begin() {
    json line = {{"ids", request_.token_ids}};
    if (!request_.positions.empty()) line["positions"] = request_.positions;
    std::ofstream file(folder_.path() / "stdin", std::ios::binary);
    file << line.dump() << '\n' << std::flush;
    if (!file)
      throw std::runtime_error("the request cannot be written to " + folder_.path().string());
    program_.emplace(arguments(shared_->options, request_.path.text(), folder_.path()),
                     folder_.path());
  }

  // Three times the logits, for a writer that keeps the data beside the file until it is whole.
  SubprocessLimits limits() const {
    const std::int64_t vocab =
        shared_->options.vocab_size > 0 ? shared_->options.vocab_size : kWidestVocab;
    return {shared_->options.silence_s,
            kFolderBytes + 12 * static_cast<std::int64_t>(wanted_.size()) * vocab};
  }

  void finish() {
    program_->wait(limits());
    shared_->peak_bytes = std::max(shared_->peak_bytes, program_->peak_bytes());
    const std::string text = read_some(folder_.path() / "stdout", kLongestOutput + 1, false);
    if (text.size() > kLongestOutput) throw std::runtime_error("writes more than 4 MiB to stdout");
    check_lines(lines_of(text), program_->failure());
    reader_.emplace(folder_.path() / "logits.safetensors");
    tensor_ = reader_->tensor("logits.0");
    if (tensor_.positions != static_cast<std::int64_t>(wanted_.size()) ||
        tensor_.vocab != answer_.vocab) {
      throw std::runtime_error(
          "the tensor logits.0 has the shape [" + std::to_string(tensor_.positions) + ", " +
          std::to_string(tensor_.vocab) + "], its answer says [" + std::to_string(wanted_.size()) +
          ", " + std::to_string(answer_.vocab) + "]");
    }
  }

  void check_lines(const std::vector<std::string>& lines, const std::string& failure) {
    if (lines.size() >= 2) {  // an answer that refuses says more than the exit code
      if (lines[0] != shared_->greeting.line) {
        throw std::runtime_error("its first line is " + excerpt(lines[0]) + ", and was " +
                                 excerpt(shared_->greeting.line) + " when it was first asked");
      }
      answer_ = read_answer(lines[1], request_, static_cast<std::int64_t>(wanted_.size()),
                            shared_->options.vocab_size);
    }
    if (!failure.empty()) {
      throw std::runtime_error("ended with " + failure +
                               (lines.size() < 2 ? " before its answer" : " after its answer"));
    }
    if (lines.size() < 2) throw std::runtime_error("ended without an answer");
    if (lines.size() > 2)
      throw std::runtime_error("writes more lines than one answer: " + excerpt(lines[2]));
  }

  std::size_t read_block() {
    const std::int64_t most = std::max<std::int64_t>(1, kBlockBytes / (4 * answer_.vocab));
    const auto count = static_cast<std::size_t>(
        std::min<std::int64_t>(most, std::ssize(wanted_) - static_cast<std::int64_t>(delivered_)));
    rows_.resize(count * static_cast<std::size_t>(answer_.vocab));
    reader_->read(tensor_, static_cast<std::int64_t>(delivered_), static_cast<std::int64_t>(count),
                  rows_.data());
    return count;
  }

  std::shared_ptr<Shared> shared_;
  LogitRequest request_;
  std::vector<std::int64_t> wanted_;
  ScratchFolder folder_;  // outlives the program and the reader
  std::optional<Subprocess> program_;
  std::optional<LogitsReader> reader_;
  LogitsReader::Tensor tensor_;
  Answer answer_;
  std::size_t delivered_ = 0;
  std::vector<float> rows_;
};

class ProcessEngine final : public Engine {
 public:
  explicit ProcessEngine(const ProcessOptions& options)
      : shared_(std::make_shared<Shared>(Shared{options, ask_capabilities(options)})) {}

  EngineDescription description() const override {
    const ProcessOptions& options = shared_->options;
    return {shared_->greeting.name,
            shared_->greeting.version,
            "live",
            {{"command", options.command}, {"dtype", options.dtype}, {"device", options.device}}};
  }
  Capabilities capabilities() const override { return shared_->greeting.capabilities; }
  std::int64_t vocab_size() const override { return shared_->options.vocab_size; }
  std::int64_t max_positions() const override { return shared_->options.max_positions; }
  std::int64_t peak_bytes() const override { return shared_->peak_bytes; }

  std::unique_ptr<LogitSession> start(const LogitRequest& request) override {
    constexpr std::int64_t kAny = std::int64_t{1} << 31;
    const ProcessOptions& options = shared_->options;
    check_request(request, options.vocab_size > 0 ? options.vocab_size : kAny,
                  options.max_positions > 0 ? options.max_positions : kAny);
    return std::make_unique<ProcessSession>(shared_, request);
  }

 private:
  std::shared_ptr<Shared> shared_;
};

bool executable(const fs::path& file) {
  return fs::is_regular_file(file) && access(file.c_str(), X_OK) == 0;
}

}  // namespace

std::unique_ptr<Engine> make_process(const ProcessOptions& options) {
  return std::make_unique<ProcessEngine>(options);
}

std::string program_fault(const std::vector<std::string>& command) {
  const std::string& program = command.front();
  if (program.find('/') != std::string::npos) {
    if (!fs::exists(program)) return "there is no file " + program;
    return executable(program) ? "" : program + " is not an executable program";
  }
  const char* variable = std::getenv("PATH");
  const std::string path = variable != nullptr ? variable : "/usr/bin:/bin";
  for (std::size_t at = 0; at <= path.size();) {
    const std::size_t end = std::min(path.find(':', at), path.size());
    if (executable(fs::path(path.substr(at, end - at)) / program)) return "";
    at = end + 1;
  }
  return "there is no program " + program + " on PATH";
}

}  // namespace octlm::reference
