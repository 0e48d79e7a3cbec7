// A program's stdin, stdout and stderr as things that may be closed, full, or read by nobody.
#pragma once

#include <memory>
#include <stdexcept>
#include <streambuf>

namespace octlm::formats {

// Opens those of the descriptors 0, 1 and 2 that are closed on /dev/null, so that no file opened
// later gets their number and with it what is printed. A closed stdin is empty; what is written to
// a closed stderr is dropped; a closed stdout is opened for reading only, so that an answer written
// to it is noticed as lost. Before anything else is opened.
void open_closed_streams();

// For a program whose results are in files: what is written to a closed stdout is dropped too.
void discard_closed_output();

// Nobody gets what is written. Also when stderr is a pipe that nobody reads any more.
class OutputLost : public std::runtime_error {
 public:
  // "standard output: cannot be written: No space left on device"
  explicit OutputLost(int reason);
  // The reader has gone (`| head -1`): no fault, and nothing is to be said of it.
  bool by_closed_pipe() const { return by_closed_pipe_; }

 private:
  bool by_closed_pipe_;
};

// While it lives, a write to std::cout that fails throws OutputLost out of the `<<` or the flush
// that made it, and SIGPIPE is ignored. A std::cerr that cannot be written is no reason to stop,
// unless it is a pipe whose reader has gone.
class CheckedStreams {
 public:
  CheckedStreams();
  ~CheckedStreams();
  CheckedStreams(const CheckedStreams&) = delete;
  CheckedStreams& operator=(const CheckedStreams&) = delete;

 private:
  std::unique_ptr<std::streambuf> out_, error_;
  std::streambuf *out_before_, *error_before_;
};

// Ends the process as one that SIGPIPE kills.
[[noreturn]] void end_by_closed_pipe();

}  // namespace octlm::formats
