// A program of the user's as an engine: anything that speaks the `logits` filter
// (docs/logits-filter.md) can stand where our decoder does.
//
// It is started once to ask what it can do, and then once for every pass: with one line on stdin,
// one answer expected on stdout and one tensor in the file. So nothing is carried from one
// comparison to the next, and a crash costs one of them. It pays for that by loading its checkpoint
// each time.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "reference/engine.h"

namespace octlm::reference {

struct ProcessOptions {
  std::vector<std::string> command;  // the program and its first arguments (command_words.h)
  std::filesystem::path folder;      // the checkpoint
  std::string dtype = "float32";
  std::string device = "cpu";
  std::int64_t vocab_size = 0;  // of the checkpoint; 0 = not known: an answer may have any width
  // Of the checkpoint; 0 = not known: the program refuses what is too long.
  std::int64_t max_positions = 0;
  double silence_s = 600;  // without a sign of life it is stopped (subprocess.h)
};

// Starts the program, reads its line of capabilities and ends it. Throws std::runtime_error that
// names the command, what went wrong, and the end of its stderr; so do start() and advance() of a
// session. Whether dtype, device and a path are among capabilities() is the caller's to look at. A
// session's calls() are those the program reported, empty when it does not; a report that
// contradicts the path is an error. Logits are read from the file in blocks of up to 48 MiB.
// peak_bytes() is the largest resident set of a pass so far.
std::unique_ptr<Engine> make_process(const ProcessOptions& options);

// What is wrong with the program of `command`, before anything is run: it is not there, or may not
// be executed. "" when nothing is.
std::string program_fault(const std::vector<std::string>& command);

}  // namespace octlm::reference
