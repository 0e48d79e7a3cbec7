#include "reference/process/program_session.h"

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "reference/request.h"

namespace octlm::reference {
namespace {

class ProgramSession final : public Session {
 public:
  ProgramSession(std::shared_ptr<ProgramShared> shared, const SessionOptions& options)
      : shared_(std::move(shared)), options_(options) {
    if (!shared_->idle.empty()) {
      program_ = std::move(shared_->idle.back());
      shared_->idle.pop_back();
      return;
    }
    const auto start = std::chrono::steady_clock::now();
    program_ = std::make_unique<RunningProgram>(shared_->options);
    about(shared_->options, program_->folder(), [&] { program_->start(shared_->greeting); });
    shared_->load_s =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }

  ~ProgramSession() override {
    if (!usable_) return;
    rows_.reset();
    program_->remove_file();
    shared_->idle.push_back(std::move(program_));
  }

  void begin(std::span<const std::int32_t> ids, std::span<const std::int64_t> wanted) override {
    check_delivered(pending_);
    check_append(ids, wanted, length_, shared_->options.vocab_size, options_.capacity);
    if (length_ > 0 && !shared_->greeting.capabilities.append) {
      throw std::invalid_argument("[subject] " + shared_->greeting.name +
                                  " has no path but full: nothing can be appended");
    }
    ids_.assign(ids.begin(), ids.end());
    wanted_.assign(wanted.begin(), wanted.end());
    delivered_ = 0;
    pending_ = true;
  }

  bool deliver(LogitSink& sink) override {
    if (!pending_) return false;
    try {
      return deliver_next(sink);
    } catch (...) {  // the program may be ahead; the next line says what it is to keep
      pending_ = false;
      rows_.reset();
      throw;
    }
  }

  void crop(std::int64_t length) override {
    check_delivered(pending_);
    check_crop(length, length_);
    if (length > 0 && length < length_ && !shared_->greeting.capabilities.append) {
      throw std::invalid_argument("[subject] " + shared_->greeting.name +
                                  " has no path but full: nothing can be cropped");
    }
    length_ = length;
  }

  std::int64_t length() const override { return length_; }
  const std::vector<ForwardCall>& calls() const override { return calls_; }

 private:
  bool deliver_next(LogitSink& sink) {
    std::span<const float> rows;
    about(shared_->options, program_->folder(), [&] {
      if (!rows_) ask();
      if (delivered_ < wanted_.size()) rows = rows_->next();
    });
    if (rows.empty()) {
      rows_.reset();
      program_->remove_file();
      pending_ = false;
      length_ += std::ssize(ids_);
      report(answer_.calls);
      return false;
    }
    const auto positions = std::span(wanted_).subspan(
        delivered_, rows.size() / static_cast<std::size_t>(rows_->vocab()));
    delivered_ += positions.size();
    sink.receive({positions, rows_->vocab(), rows.data()});
    return true;
  }

  // No answer is without a row: where none is wanted it is the last, and nobody gets it.
  void ask() {
    const std::int64_t last = length_ + std::ssize(ids_) - 1;
    const auto& positions = wanted_.empty() ? std::vector{last} : wanted_;
    nlohmann::json line = {{"ids", ids_}, {"keep", length_}};
    if (positions.size() != ids_.size()) line["positions"] = positions;
    if (length_ == 0 && options_.capacity > 0) line["capacity"] = options_.capacity;
    Asked asked{.first_position = length_,
                .positions = std::ssize(ids_),
                .rows = std::ssize(positions),
                .vocab = shared_->options.vocab_size,
                .calls = std::nullopt,
                .how = "one append"};
    if (!options_.may_split) asked.calls = {{length_, std::ssize(ids_)}};
    usable_ = false;
    try {
      answer_ = program_->ask(std::move(line), asked);
    } catch (const RefusedError&) {
      usable_ = true;
      throw;
    }
    rows_ = program_->rows(answer_, asked);
    usable_ = true;
    shared_->peak_bytes = std::max(shared_->peak_bytes, program_->peak_bytes());
  }

  // Calls are known only where all of them are.
  void report(const std::vector<ForwardCall>& calls) {
    reports_ = reports_ && !calls.empty();
    if (!reports_) calls_.clear();
    if (reports_) calls_.insert(calls_.end(), calls.begin(), calls.end());
  }

  std::shared_ptr<ProgramShared> shared_;
  SessionOptions options_;
  std::unique_ptr<RunningProgram> program_;
  bool usable_ = true;  // it may be asked again
  std::int64_t length_ = 0;
  std::vector<ForwardCall> calls_;
  bool reports_ = true;
  // The append under way.
  bool pending_ = false;
  std::vector<std::int32_t> ids_;
  std::vector<std::int64_t> wanted_;
  std::size_t delivered_ = 0;
  Answer answer_;
  std::unique_ptr<AnswerRows> rows_;
};

}  // namespace

void RunningProgram::start(const Greeting& greeting) {
  conversation_ = std::make_unique<Conversation>(
      program_arguments(options_, {"--session", "--capabilities"}), folder_.path());
  const SubprocessLimits limits = line_limits(options_);
  check_greeting(conversation_->hear(limits, "its line of capabilities"), greeting);
  check_ready(conversation_->hear(limits, "its line that it is ready"));
}

Answer RunningProgram::ask(nlohmann::json line, const Asked& asked) {
  line["out"] = (folder_.path() / "logits.safetensors").string();
  SubprocessLimits limits = answer_limits(options_, asked.rows);
  limits.folder_bytes += folder_bytes(folder_.path());  // stderr, of a long life
  conversation_->say(line.dump());
  return read_answer(conversation_->hear(limits, "its answer"), asked);
}

std::unique_ptr<AnswerRows> RunningProgram::rows(const Answer& answer, const Asked& asked) const {
  return std::make_unique<AnswerRows>(folder_.path() / "logits.safetensors", answer, asked.rows);
}

void RunningProgram::remove_file() {
  std::error_code ignored;
  std::filesystem::remove(folder_.path() / "logits.safetensors", ignored);
}

std::unique_ptr<Session> open_program_session(std::shared_ptr<ProgramShared> shared,
                                              const SessionOptions& options) {
  return std::make_unique<ProgramSession>(std::move(shared), options);
}

}  // namespace octlm::reference
