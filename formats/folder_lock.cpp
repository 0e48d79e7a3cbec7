// The file is removed while it is locked. Who opened it before and gets the lock then has one that
// is in no folder any more, and tries again.
#include "formats/folder_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "formats/descriptor.h"

namespace octlm::formats {
namespace {

std::filesystem::path lock_file(const std::filesystem::path& folder) { return folder / ".lock"; }

// What the holder wrote, a process id.
std::string holder(int descriptor) {
  std::array<char, 32> text{};
  const ssize_t got = ::pread(descriptor, text.data(), text.size() - 1, 0);
  std::string id;
  for (ssize_t i = 0; i < got && text[static_cast<std::size_t>(i)] >= '0' &&
                      text[static_cast<std::size_t>(i)] <= '9';
       ++i) {
    id += text[static_cast<std::size_t>(i)];
  }
  return id.empty() ? "another process" : "process " + id;
}

std::string at_work(const std::filesystem::path& folder, int descriptor) {
  return folder.string() + ": " + holder(descriptor) +
         " is at work in it: wait for it, or give another folder";
}

bool in_its_folder(int descriptor) {
  struct stat status = {};
  return ::fstat(descriptor, &status) == 0 && status.st_nlink > 0;
}

}  // namespace

FolderLock::FolderLock(const std::filesystem::path& folder) : file_(lock_file(folder)) {
  while (true) {
    descriptor_ = ::open(file_.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (descriptor_ < 0)
      throw std::runtime_error(file_.string() + ": cannot be written: " + std::strerror(errno));
    if (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
      const std::string what = at_work(folder, descriptor_);
      ::close(descriptor_);
      throw std::invalid_argument(what);
    }
    if (in_its_folder(descriptor_)) break;
    ::close(descriptor_);
  }
  const std::string id = std::to_string(::getpid()) + "\n";  // for people: the lock is what counts
  if (::ftruncate(descriptor_, 0) == 0) write_all(descriptor_, id.data(), id.size());
}

FolderLock::~FolderLock() {
  ::unlink(file_.c_str());
  ::close(descriptor_);
}

std::optional<std::string> at_work_in(const std::filesystem::path& folder) {
  const int descriptor = ::open(lock_file(folder).c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
  if (descriptor < 0) return std::nullopt;
  std::optional<std::string> what;
  if (::flock(descriptor, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    what = at_work(folder, descriptor);
  ::close(descriptor);
  return what;
}

}  // namespace octlm::formats
