#include "reference/process/conversation.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <thread>

#include "reference/process/program_text.h"

namespace octlm::reference {
namespace {

int open_fifo(const std::filesystem::path& file, int flags) {
  const int end =
      mkfifo(file.c_str(), 0600) == 0 ? open(file.c_str(), flags | O_NONBLOCK | O_CLOEXEC) : -1;
  if (end < 0) throw std::runtime_error(file.string() + ": " + std::strerror(errno));
  return end;
}

}  // namespace

// The end that is written is open for reading too: the program's own open() then finds a partner
// at once, and a program that is gone is no SIGPIPE.
Conversation::Ends::Ends(const std::filesystem::path& folder)
    : to(open_fifo(folder / "stdin", O_RDWR)), from(open_fifo(folder / "stdout", O_RDONLY)) {}

Conversation::Ends::~Ends() {
  close(to);
  close(from);
}

Conversation::Conversation(const std::vector<std::string>& argv,
                           const std::filesystem::path& folder)
    : ends_(folder), program_(argv, folder) {}

void Conversation::say(const std::string& line) {
  receive();
  if (!unread_.empty()) {
    throw std::runtime_error("writes more lines than one answer: " +
                             excerpt(unread_.substr(0, unread_.find('\n'))));
  }
  unsent_ += line + '\n';
  send();
}

std::string Conversation::hear(const SubprocessLimits& limits, const std::string& what) {
  const auto exchange = [&] {
    send();
    receive();
    return unread_.find('\n') != std::string::npos;
  };
  const bool ended = program_.wait(limits, exchange, [&](auto most) { pause(most); });
  if (ended && !exchange()) {
    const std::string failure = program_.failure();
    throw std::runtime_error("ended" + (failure.empty() ? "" : " with " + failure) + " before " +
                             what);
  }
  const std::size_t end = unread_.find('\n');
  std::string line = unread_.substr(0, end);
  unread_.erase(0, end + 1);
  return line;
}

void Conversation::send() {
  while (!unsent_.empty()) {
    const ssize_t written = write(ends_.to, unsent_.data(), unsent_.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;  // full: the program has yet to read
    unsent_.erase(0, static_cast<std::size_t>(written));
  }
}

void Conversation::receive() {
  std::array<char, 1 << 16> block;
  for (;;) {
    const ssize_t count = read(ends_.from, block.data(), block.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return;
    unread_.append(block.data(), static_cast<std::size_t>(count));
    if (unread_.size() > kLongestOutput)
      throw std::runtime_error("writes more than 4 MiB to stdout");
  }
}

void Conversation::pause(std::chrono::milliseconds most) const {
  std::array<pollfd, 2> ends{{{ends_.from, POLLIN, 0}, {ends_.to, POLLOUT, 0}}};
  poll(ends.data(), unsent_.empty() ? 1 : 2, static_cast<int>(most.count()));
  // A program that has closed its stdout and goes on would be asked without a pause.
  if ((ends[0].revents & (POLLIN | POLLHUP)) == POLLHUP) std::this_thread::sleep_for(most);
}

}  // namespace octlm::reference
