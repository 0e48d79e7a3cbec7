#include "formats/standard_streams.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <iostream>
#include <string>

#include "formats/descriptor.h"

namespace octlm::formats {
namespace {

constexpr std::size_t kBuffered = 1 << 16;

[[noreturn]] void lost(int reason) {
  std::cerr.tie(nullptr);  // what is now said of it does not begin with writing it again
  throw OutputLost(reason);
}

// stdout: written when it is flushed, or full.
class BufferedOutput final : public std::streambuf {
 public:
  BufferedOutput() { begin(); }

 protected:
  int_type overflow(int_type next) override {
    sync();
    return traits_type::eq_int_type(next, traits_type::eof()) ? traits_type::not_eof(next)
                                                              : sputc(static_cast<char>(next));
  }
  int sync() override {
    const auto bytes = static_cast<std::size_t>(pptr() - pbase());
    begin();
    if (!write_all(STDOUT_FILENO, buffer_.data(), bytes)) lost(errno);
    return 0;
  }

 private:
  void begin() { setp(buffer_.data(), buffer_.data() + buffer_.size()); }

  std::array<char, kBuffered> buffer_;
};

// stderr: written at once, so that nothing is left to be written where nothing may be thrown.
class UnbufferedOutput final : public std::streambuf {
 protected:
  int_type overflow(int_type next) override {
    const char text = static_cast<char>(next);
    if (!traits_type::eq_int_type(next, traits_type::eof())) xsputn(&text, 1);
    return traits_type::not_eof(next);
  }
  std::streamsize xsputn(const char* text, std::streamsize bytes) override {
    const bool written = write_all(STDERR_FILENO, text, static_cast<std::size_t>(bytes));
    if (!written && errno == EPIPE) lost(errno);
    return bytes;
  }
};

void open_null(int descriptor, int flags) {
  const int null = ::open("/dev/null", flags);
  if (null < 0 || null == descriptor) return;
  ::dup2(null, descriptor);
  ::close(null);
}

}  // namespace

// In this order: each gets the lowest number that is free, its own.
void open_closed_streams() {
  constexpr std::array kFlags = {O_RDONLY, O_RDONLY, O_WRONLY};
  for (int descriptor = 0; descriptor < 3; ++descriptor) {
    if (::fcntl(descriptor, F_GETFD) >= 0 || errno != EBADF) continue;
    open_null(descriptor, kFlags[static_cast<std::size_t>(descriptor)]);
  }
}

void discard_closed_output() {
  const int flags = ::fcntl(STDOUT_FILENO, F_GETFL);
  if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY) open_null(STDOUT_FILENO, O_WRONLY);
}

OutputLost::OutputLost(int reason)
    : std::runtime_error(std::string("standard output: cannot be written: ") +
                         std::strerror(reason)),
      by_closed_pipe_(reason == EPIPE) {}

CheckedStreams::CheckedStreams()
    : out_(std::make_unique<BufferedOutput>()),
      error_(std::make_unique<UnbufferedOutput>()),
      out_before_(std::cout.rdbuf(out_.get())),
      error_before_(std::cerr.rdbuf(error_.get())) {
  ::signal(SIGPIPE, SIG_IGN);
  std::cout.exceptions(std::ios::badbit);
  std::cerr.exceptions(std::ios::badbit);
  std::cerr << std::nounitbuf;  // it would flush in a destructor
}

CheckedStreams::~CheckedStreams() {
  std::cout.exceptions(std::ios::goodbit);
  std::cerr.exceptions(std::ios::goodbit);
  std::cout.rdbuf(out_before_);
  std::cerr.rdbuf(error_before_);
  std::cerr << std::unitbuf;
}

void end_by_closed_pipe() {
  ::signal(SIGPIPE, SIG_DFL);
  ::raise(SIGPIPE);
  ::_exit(128 + SIGPIPE);  // where it is blocked
}

}  // namespace octlm::formats
