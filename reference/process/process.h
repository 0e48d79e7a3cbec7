// A program of the user's as an engine: anything that speaks the `logits` filter
// (docs/logits-filter.md) can stand where our decoder does.
//
// It is started once to ask what it can do. One that says that it has sessions is then started once
// more and stays: one line for every append, and its checkpoint is loaded before the first. Any
// other is started for every pass, with one line on stdin, one answer expected on stdout and one
// tensor in the file; it pays for that by loading its checkpoint each time, and nothing but the
// path on its command line says how to split. Either way a crash costs one comparison.
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
// names the command, what went wrong, and the end of its stderr; so do open_session(), deliver(),
// start() and advance(). A program that has ended, or broke a limit or the protocol, is gone; the
// next session starts another. Whether dtype, device and a path are among capabilities() is the
// caller's to look at. Calls are those the program reported, empty when it does not; a report that
// contradicts what was asked is an error. Logits are read from the file in blocks of up to 48 MiB.
// peak_bytes() is the largest resident set so far.
//
// description().settings: command, version, dtype, device; session; files and files_sha256, of what
// it is made of (program_files.h); seconds_include_loading, false for a program that stays; load_s,
// of such a one, from its start to its word that it is ready.
std::unique_ptr<Engine> make_process(const ProcessOptions& options);

// What is wrong with the program of `command`, before anything is run: it is not there, or may not
// be executed. "" when nothing is.
std::string program_fault(const std::vector<std::string>& command);

}  // namespace octlm::reference
