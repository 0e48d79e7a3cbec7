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

  std::string read(std::size_t from = 0) const {
    std::string text;
    char buffer[1 << 16];
    while (true) {
      const ssize_t got =
          ::pread(descriptor_, buffer, sizeof buffer, static_cast<off_t>(from + text.size()));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) fail("cannot be read");
      if (got == 0) return text;
      text.append(buffer, static_cast<std::size_t>(got));
    }
  }

  std::size_t size() const {
    const off_t end = ::lseek(descriptor_, 0, SEEK_END);
    if (end < 0) fail("cannot be read");
    return static_cast<std::size_t>(end);
  }

  // Read backwards, in pieces that double, until they hold a whole line.
  FileEnd end() const {
    const std::size_t all = size();
    for (std::size_t wanted = 1 << 14;; wanted *= 2) {
      const std::size_t from = wanted < all ? all - wanted : 0;
      const std::string text = read(from);
      const std::size_t stop = text.rfind('\n');
      const std::size_t before =
          stop == std::string::npos || stop == 0 ? std::string::npos : text.rfind('\n', stop - 1);
      if (before == std::string::npos && from > 0) continue;
      const std::size_t start = before == std::string::npos ? 0 : before + 1;
      if (stop == std::string::npos) return {"", !text.empty()};
      return {text.substr(start, stop - start), stop + 1 < text.size()};
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

void locked_append_after(const std::filesystem::path& file,
                         const std::function<std::string(const FileEnd&)>& lines) {
  LockedFile locked(file);
  const std::string more = lines(locked.end());
  if (!more.empty()) locked.append(more, locked.size());
}

}  // namespace octlm::verify
