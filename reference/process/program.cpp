#include "reference/process/program.h"

#include <algorithm>

#include "reference/process/program_text.h"

namespace octlm::reference {
namespace {

constexpr std::int64_t kBlockBytes = 48 << 20;
// Beside the logits: stderr, and what a writer keeps.
constexpr std::int64_t kFolderBytes = std::int64_t{64} << 20;
constexpr std::int64_t kWidestVocab = 1 << 20;  // when the vocabulary is not known
constexpr std::size_t kStderrShown = 500;

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

}  // namespace

std::vector<std::string> program_arguments(const ProcessOptions& options,
                                           const std::vector<std::string>& more) {
  std::vector<std::string> words = options.command;
  words.insert(words.end(), {"--model", options.folder.string(), "--dtype", options.dtype,
                             "--device", options.device});
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

void throw_about(const ProcessOptions& options, const std::filesystem::path& folder,
                 std::string what) {
  const std::string in_folder = folder.string() + "/";
  for (std::size_t at; (at = what.find(in_folder)) != std::string::npos;)
    what.erase(at, in_folder.size());
  const std::string said = printable(read_some(folder / "stderr", kStderrShown, true));
  throw std::runtime_error(
      "[subject] " + joined(options.command) + ": " + what +
      (said.empty() ? "; it wrote nothing to stderr" : "; its stderr ends: " + said));
}

SubprocessLimits line_limits(const ProcessOptions& options) {
  return {options.silence_s, kFolderBytes};
}

SubprocessLimits answer_limits(const ProcessOptions& options, std::int64_t rows) {
  const std::int64_t vocab = options.vocab_size > 0 ? options.vocab_size : kWidestVocab;
  return {options.silence_s, kFolderBytes + 12 * rows * vocab};
}

AnswerRows::AnswerRows(const std::filesystem::path& file, const Answer& answer, std::int64_t rows)
    : reader_(file), tensor_(reader_.tensor("logits.0")) {
  if (tensor_.positions != rows || tensor_.vocab != answer.vocab) {
    throw std::runtime_error("the tensor logits.0 has the shape [" +
                             std::to_string(tensor_.positions) + ", " +
                             std::to_string(tensor_.vocab) + "], its answer says [" +
                             std::to_string(rows) + ", " + std::to_string(answer.vocab) + "]");
  }
}

std::span<const float> AnswerRows::next() {
  const std::int64_t most = std::max<std::int64_t>(1, kBlockBytes / (4 * tensor_.vocab));
  const std::int64_t count = std::min(most, tensor_.positions - next_);
  rows_.resize(static_cast<std::size_t>(count * tensor_.vocab));
  reader_.read(tensor_, next_, count, rows_.data());
  next_ += count;
  return rows_;
}

}  // namespace octlm::reference
