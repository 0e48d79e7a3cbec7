// What a pass of its own (program_pass.h) and a program that stays (program_session.h) have in
// common: options, errors, limits, and the file that an answer is about.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "reference/process/filter_protocol.h"
#include "reference/process/process.h"
#include "reference/process/subprocess.h"
#include "reference/recorded/logits_file.h"

namespace octlm::reference {

class RunningProgram;  // program_session.h

// One engine's, and its passes' and sessions'.
struct ProgramShared {
  ProcessOptions options;
  Greeting greeting;
  std::int64_t peak_bytes = 0;
  double load_s = 0;  // of the program that stays and was started last
  // Programs that stay and that no session has.
  std::vector<std::unique_ptr<RunningProgram>> idle;
};

// The program's words, its checkpoint, and `more`.
std::vector<std::string> program_arguments(const ProcessOptions& options,
                                           const std::vector<std::string>& more);

// One sentence with the command and the end of the stderr in `folder`, and without names in it
// that will not be there when it is read.
[[noreturn]] void throw_about(const ProcessOptions& options, const std::filesystem::path& folder,
                              std::string what);

// Does `work`; whatever it throws becomes that sentence.
template <class Work>
auto about(const ProcessOptions& options, const std::filesystem::path& folder, Work work) {
  try {
    return work();
  } catch (const std::exception& error) {
    throw_about(options, folder, error.what());
  }
}

// For a line that no answer with rows follows.
SubprocessLimits line_limits(const ProcessOptions& options);
// For an answer of so many rows: three times the logits, for a writer that keeps the data beside
// the file until it is whole.
SubprocessLimits answer_limits(const ProcessOptions& options, std::int64_t rows);

// The rows of one answer, read from its file a block at a time.
class AnswerRows {
 public:
  // Throws std::runtime_error when the file is not what the answer says.
  AnswerRows(const std::filesystem::path& file, const Answer& answer, std::int64_t rows);

  bool at_end() const { return next_ == tensor_.positions; }
  // The next block [rows, vocab]; valid until the next call. REQUIRES: not at_end().
  std::span<const float> next();
  std::int64_t vocab() const { return tensor_.vocab; }

 private:
  LogitsReader reader_;
  LogitsReader::Tensor tensor_;
  std::int64_t next_ = 0;
  std::vector<float> rows_;
};

}  // namespace octlm::reference
