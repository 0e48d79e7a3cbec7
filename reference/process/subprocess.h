// A program that we did not write, run without a shell and watched: it may crash, hang, flood the
// disk or ignore signals, and no more comes of it than one sentence.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "reference/process/supervision.h"

namespace octlm::reference {

// A new folder for temporary files ($TMPDIR, else /tmp), removed with all it holds.
class ScratchFolder {
 public:
  ScratchFolder();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

struct SubprocessLimits {
  // It is stopped after so long without a sign of life: a byte on stdout or stderr, or a file of
  // its folder that grows; and after ten times that in any case.
  double silence_s = 600;
  std::int64_t folder_bytes = std::int64_t{64} << 20;  // all files of its folder together
};

// Bytes of all files in a folder, as far as they can be seen.
std::int64_t folder_bytes(const std::filesystem::path& folder);

// Runs in a process group of its own. `stdin`, `stdout` and `stderr` are files in `folder`, so that
// neither side can block the other; the first must be there. Either may be a FIFO instead, open
// for the other direction (conversation.h). What it starts itself ends with it, and both end with
// this process, however that ends; then the folder is removed too (supervisor.cpp).
class Subprocess {
 public:
  // argv[0] is looked up on PATH. Throws std::runtime_error when it cannot be started.
  Subprocess(const std::vector<std::string>& argv, std::filesystem::path folder);
  ~Subprocess();
  Subprocess(const Subprocess&) = delete;
  Subprocess& operator=(const Subprocess&) = delete;

  // Waits until it has ended (true) or `enough` says so (false; it runs on). Throws
  // std::runtime_error when a limit is passed; it has been ended then. Between two looks it sleeps,
  // or does `pause`, which returns after no more than the time given.
  bool wait(const SubprocessLimits& limits, const std::function<bool()>& enough = {},
            const std::function<void(std::chrono::milliseconds)>& pause = {});
  // Ends it: SIGTERM to the group, two seconds, SIGKILL to all that it has started. Nothing when it
  // has ended.
  void end();

  // "" when it ended with exit code 0; else "exit code 3", "signal 11 (Segmentation fault)".
  // REQUIRES: ended.
  std::string failure() const;
  // Its resident set at the highest so far; 0 when that cannot be read.
  std::int64_t peak_bytes() const;

 private:
  bool poll();
  std::optional<SupervisorReport> next_report();
  void tell(char word);
  void leave();

  std::filesystem::path folder_;
  pid_t supervisor_ = 0;
  int line_ = -1;  // to the supervisor, and from it
  pid_t pid_ = 0;
  bool ended_ = false;
  int status_ = 0;
  std::int64_t peak_bytes_ = 0;
};

// Asked while a program is waited for: true ends it, and wait() throws. For a run that a signal has
// asked to stop, which would else go on until the answer is there. Before anything is started.
void stop_programs_when(std::function<bool()> asked);

}  // namespace octlm::reference
