#include "verify/ledger/locked_append.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace octlm::verify {
namespace {

class LockedFile {
 public:
  explicit LockedFile(const std::filesystem::path& file) : file_(file) {
    std::error_code error;
    std::filesystem::create_directories(file.parent_path(), error);  // open() says what is wrong
    descriptor_ = ::open(file.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (descriptor_ < 0) fail("cannot be written");
    while (::flock(descriptor_, LOCK_EX) != 0) {
      if (errno != EINTR) fail("cannot be locked");
    }
  }
  ~LockedFile() {
    if (descriptor_ >= 0) ::close(descriptor_);  // and unlocks
  }
  LockedFile(const LockedFile&) = delete;
  LockedFile& operator=(const LockedFile&) = delete;

  std::string read() const {
    std::string text;
    char buffer[1 << 16];
    while (true) {
      const ssize_t got =
          ::pread(descriptor_, buffer, sizeof buffer, static_cast<off_t>(text.size()));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) fail("cannot be read");
      if (got == 0) return text;
      text.append(buffer, static_cast<std::size_t>(got));
    }
  }

  // All of it or nothing: what a failed write left is cut off again.
  void append(const std::string& lines, std::size_t size_before) {
    const ssize_t written = ::write(descriptor_, lines.data(), lines.size());
    if (written == static_cast<ssize_t>(lines.size()) && ::fsync(descriptor_) == 0) return;
    const int reason =
        written >= 0 && written < static_cast<ssize_t>(lines.size()) ? ENOSPC : errno;
    [[maybe_unused]] const int cut = ::ftruncate(descriptor_, static_cast<off_t>(size_before));
    errno = reason;
    fail("cannot be written");
  }

 private:
  [[noreturn]] void fail(const char* what) const {
    throw std::runtime_error(file_.string() + ": " + what + ": " + std::strerror(errno));
  }

  std::filesystem::path file_;
  int descriptor_ = -1;
};

}  // namespace

void locked_append(const std::filesystem::path& file,
                   const std::function<std::string(std::string_view)>& lines) {
  LockedFile locked(file);
  const std::string text = locked.read();
  const std::string more = lines(text);
  if (!more.empty()) locked.append(more, text.size());
}

}  // namespace octlm::verify
