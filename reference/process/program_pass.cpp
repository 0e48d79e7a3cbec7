#include "reference/process/program_pass.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "reference/process/program_text.h"
#include "reference/request.h"

namespace octlm::reference {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> arguments(const ProcessOptions& options, const std::string& path,
                                   const fs::path& folder) {
  return program_arguments(
      options, {"--path", path, "--out", folder / "logits.safetensors", "--capabilities"});
}

class ProgramPass final : public LogitPass {
 public:
  ProgramPass(std::shared_ptr<ProgramShared> shared, LogitRequest request)
      : shared_(std::move(shared)),
        request_(std::move(request)),
        wanted_(wanted_positions(request_)) {
    about(shared_->options, folder_.path(), [&] { begin(); });
  }

  bool advance(LogitSink& sink) override {
    if (delivered_ == wanted_.size()) return false;
    const auto rows = about(shared_->options, folder_.path(), [&] {
      if (!rows_) finish();
      return rows_->next();
    });
    const auto positions = std::span(wanted_).subspan(
        delivered_, rows.size() / static_cast<std::size_t>(rows_->vocab()));
    delivered_ += positions.size();
    sink.receive({positions, rows_->vocab(), rows.data()});
    return true;
  }

  const std::vector<ForwardCall>& calls() const override { return answer_.calls; }

 private:
  void begin() {
    nlohmann::json line = {{"ids", request_.token_ids}};
    if (!request_.positions.empty()) line["positions"] = request_.positions;
    std::ofstream file(folder_.path() / "stdin", std::ios::binary);
    file << line.dump() << '\n' << std::flush;
    if (!file)
      throw std::runtime_error("the request cannot be written to " + folder_.path().string());
    program_.emplace(arguments(shared_->options, request_.path.text(), folder_.path()),
                     folder_.path());
  }

  void finish() {
    program_->wait(answer_limits(shared_->options, std::ssize(wanted_)));
    shared_->peak_bytes = std::max(shared_->peak_bytes, program_->peak_bytes());
    const std::string text = read_some(folder_.path() / "stdout", kLongestOutput + 1, false);
    if (text.size() > kLongestOutput) throw std::runtime_error("writes more than 4 MiB to stdout");
    check_lines(lines_of(text), program_->failure());
    rows_.emplace(folder_.path() / "logits.safetensors", answer_, std::ssize(wanted_));
  }

  Asked asked() const {
    const auto n = static_cast<std::int64_t>(request_.token_ids.size());
    const bool full = request_.path.text() == "full";
    return {.first_position = 0,
            .positions = n,
            .rows = std::ssize(wanted_),
            .vocab = shared_->options.vocab_size,
            .calls = full ? std::nullopt : request_.path.calls(n),
            .how = "the path " + request_.path.text()};
  }

  void check_lines(const std::vector<std::string>& lines, const std::string& failure) {
    if (lines.size() >= 2) {  // an answer that refuses says more than the exit code
      check_greeting(lines[0], shared_->greeting);
      answer_ = read_answer(lines[1], asked());
    }
    if (!failure.empty()) {
      throw std::runtime_error("ended with " + failure +
                               (lines.size() < 2 ? " before its answer" : " after its answer"));
    }
    if (lines.size() < 2) throw std::runtime_error("ended without an answer");
    if (lines.size() > 2)
      throw std::runtime_error("writes more lines than one answer: " + excerpt(lines[2]));
  }

  std::shared_ptr<ProgramShared> shared_;
  LogitRequest request_;
  std::vector<std::int64_t> wanted_;
  ScratchFolder folder_;  // outlives the program and the reader
  std::optional<Subprocess> program_;
  std::optional<AnswerRows> rows_;
  Answer answer_;
  std::size_t delivered_ = 0;
};

}  // namespace

std::unique_ptr<LogitPass> start_program_pass(std::shared_ptr<ProgramShared> shared,
                                              const LogitRequest& request) {
  return std::make_unique<ProgramPass>(std::move(shared), request);
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
    const bool ended = program.wait(line_limits(options), has_line);
    if (ended && !has_line()) {
      const std::string failure = program.failure();
      throw std::runtime_error("ended" + (failure.empty() ? "" : " with " + failure) +
                               " before its line of capabilities");
    }
    program.end();
    return read_greeting(text.substr(0, text.find('\n')));
  });
}

}  // namespace octlm::reference
