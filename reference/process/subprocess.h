// A program that we did not write, run without a shell and watched: it may crash, hang, flood the
// disk or ignore signals, and no more comes of it than one sentence.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

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

// Runs in a process group of its own. `stdin`, `stdout` and `stderr` are files in `folder`, so that
// neither side can block the other; the first must be there. What it starts itself ends with it.
class Subprocess {
 public:
  // argv[0] is looked up on PATH. Throws std::runtime_error when it cannot be started.
  Subprocess(const std::vector<std::string>& argv, std::filesystem::path folder);
  ~Subprocess();
  Subprocess(const Subprocess&) = delete;
  Subprocess& operator=(const Subprocess&) = delete;

  // Waits until it has ended (true) or `enough` says so (false; it runs on). Throws
  // std::runtime_error when a limit is passed; it has been ended then.
  bool wait(const SubprocessLimits& limits, const std::function<bool()>& enough = {});
  // Ends the group: SIGTERM, two seconds, SIGKILL. Nothing when it has ended.
  void end();

  // "" when it ended with exit code 0; else "exit code 3", "signal 11 (Segmentation fault)".
  // REQUIRES: ended.
  std::string failure() const;
  // Its resident set at the highest; 0 until it ended.
  std::int64_t peak_bytes() const { return peak_bytes_; }

 private:
  bool poll();

  std::filesystem::path folder_;
  pid_t pid_ = 0;
  bool ended_ = false;
  int status_ = 0;
  std::int64_t peak_bytes_ = 0;
};

}  // namespace octlm::reference
