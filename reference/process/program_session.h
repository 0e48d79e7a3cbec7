// A program that stays: loaded once, then one line and one answer for each append
// (docs/logits-filter.md, "A session"). It serves one sequence at a time; a second session at the
// same time has a second program, and a program that is free serves the next.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>

#include "reference/process/conversation.h"
#include "reference/process/program.h"

namespace octlm::reference {

class RunningProgram {
 public:
  explicit RunningProgram(const ProcessOptions& options) : options_(options) {}

  // Starts it and waits until its checkpoint is loaded. Throws std::runtime_error.
  void start(const Greeting& greeting);
  // One line, its answer, and the rows in the file that the answer is about. Throws
  // std::runtime_error; the program can be asked again only after a RefusedError.
  Answer ask(nlohmann::json line, const Asked& asked);
  // What the last answer is about; REQUIRES: ask() has returned.
  std::unique_ptr<AnswerRows> rows(const Answer& answer, const Asked& asked) const;
  void remove_file();

  const std::filesystem::path& folder() const { return folder_.path(); }
  std::int64_t peak_bytes() const { return conversation_ ? conversation_->peak_bytes() : 0; }

 private:
  ProcessOptions options_;
  ScratchFolder folder_;  // outlives the program
  std::unique_ptr<Conversation> conversation_;
};

// Takes a program that is free, or starts one. REQUIRES: it says that it has sessions.
std::unique_ptr<Session> open_program_session(std::shared_ptr<ProgramShared> shared,
                                              const SessionOptions& options);

}  // namespace octlm::reference
