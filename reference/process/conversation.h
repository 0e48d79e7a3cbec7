// A program that stays: one line to it, one line from it, as often as wanted. Its `stdin` and
// `stdout` are FIFOs in its folder; neither side waits for the other to read.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "reference/process/subprocess.h"

namespace octlm::reference {

class Conversation {
 public:
  // Starts the program. Throws std::runtime_error when that is not possible. REQUIRES: `folder` is
  // empty and outlives this.
  Conversation(const std::vector<std::string>& argv, const std::filesystem::path& folder);

  // Says a line; what does not fit the FIFO is written while hear() waits. Throws
  // std::runtime_error when the program has said more than it was asked for.
  void say(const std::string& line);
  // The program's next line. Throws std::runtime_error when it ends before `what` ("its answer"),
  // passes a limit (and is ended then), or writes more than 4 MiB without an end of line. Of signs
  // of life only those in its folder count, stderr among them, and a whole line.
  std::string hear(const SubprocessLimits& limits, const std::string& what);

  std::int64_t peak_bytes() const { return program_.peak_bytes(); }

 private:
  // The two ends that are ours.
  struct Ends {
    explicit Ends(const std::filesystem::path& folder);
    ~Ends();
    Ends(const Ends&) = delete;
    Ends& operator=(const Ends&) = delete;
    int to = -1;
    int from = -1;
  };

  void send();
  void receive();
  // Until something may be sent or received, or the time is over.
  void pause(std::chrono::milliseconds most) const;

  Ends ends_;  // open before the program opens its own, and closed after it has ended
  Subprocess program_;
  std::string unsent_;
  std::string unread_;
};

}  // namespace octlm::reference
