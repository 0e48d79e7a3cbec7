#include "reference/process/process.h"

#include <unistd.h>

#include <cstdlib>
#include <stdexcept>
#include <utility>

#include "reference/process/program_files.h"
#include "reference/process/program_pass.h"
#include "reference/process/program_session.h"
#include "reference/request.h"

namespace octlm::reference {
namespace {

namespace fs = std::filesystem;

class ProcessEngine final : public Engine {
 public:
  explicit ProcessEngine(const ProcessOptions& options)
      : shared_(std::make_shared<ProgramShared>()) {
    shared_->options = options;
    files_ = program_files(options.command);
    shared_->greeting = ask_capabilities(options);
  }

  EngineDescription description() const override {
    const ProcessOptions& options = shared_->options;
    const Greeting& greeting = shared_->greeting;
    nlohmann::json settings = {
        {"command", options.command},  {"version", greeting.version},
        {"dtype", options.dtype},      {"device", options.device},
        {"session", greeting.session}, {"seconds_include_loading", !greeting.session},
        {"files", files_.files},       {"files_sha256", files_.sha256}};
    if (shared_->load_s > 0) settings["load_s"] = shared_->load_s;
    return {greeting.name, greeting.version, "live", settings, files_.sha256, files_.files};
  }
  Capabilities capabilities() const override { return shared_->greeting.capabilities; }
  std::int64_t vocab_size() const override { return shared_->options.vocab_size; }
  std::int64_t max_positions() const override { return shared_->options.max_positions; }
  std::int64_t peak_bytes() const override { return shared_->peak_bytes; }

  std::unique_ptr<Session> open_session(const SessionOptions& options) override {
    if (!shared_->greeting.session) {
      throw std::invalid_argument("[subject] " + shared_->greeting.name +
                                  " has no sessions: it is started for each pass");
    }
    SessionOptions with_capacity = options;
    with_capacity.capacity = session_capacity(options, max_positions());
    return open_program_session(shared_, with_capacity);
  }

  std::unique_ptr<LogitPass> start(const LogitRequest& request) override {
    if (shared_->greeting.session) return Engine::start(request);
    check_request(request, vocab_size(), max_positions());
    return start_program_pass(shared_, request);
  }

 private:
  std::shared_ptr<ProgramShared> shared_;
  ProgramFiles files_;  // as they were when it was opened
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
