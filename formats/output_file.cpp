#include "formats/output_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>

#include "formats/descriptor.h"

namespace octlm::formats {
namespace {

[[noreturn]] void cannot_write(const std::filesystem::path& file) {
  throw std::runtime_error(file.string() + ": cannot be written: " + std::strerror(errno));
}

[[noreturn]] void cannot_write(const std::filesystem::path& file, const std::string& why) {
  throw std::runtime_error(file.string() + ": cannot be written: " + why);
}

// What the name stands for in the end, which may not be there.
std::filesystem::path target_of(const std::filesystem::path& file) {
  constexpr int kMostLinks = 40;  // the kernel's
  std::filesystem::path target = file;
  std::error_code error;
  for (int links = 0; std::filesystem::is_symlink(target, error); ++links) {
    if (links == kMostLinks) cannot_write(file, std::strerror(ELOOP));
    target = target.parent_path() / std::filesystem::read_symlink(target, error);
  }
  return target;
}

// What stood there had an owner, a group and a mode; what comes in its place has them too.
void keep_rights(int descriptor, const struct stat& before, const std::filesystem::path& file) {
  mode_t mode = before.st_mode & 01777;
  if (::fchown(descriptor, before.st_uid, before.st_gid) != 0 &&
      ::fchown(descriptor, static_cast<uid_t>(-1), before.st_gid) != 0) {
    mode &= ~static_cast<mode_t>(S_IRWXG);
  }
  if (::fchmod(descriptor, mode) != 0) cannot_write(file);
}

bool same_file(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

// The file `path` is, or that stands in the folder `path`; "" when neither.
std::filesystem::path found_in(const std::filesystem::path& path, const struct stat& file) {
  constexpr int kDeepest = 4;
  struct stat one = {};
  if (::stat(path.c_str(), &one) != 0) return {};
  if (!S_ISDIR(one.st_mode)) return same_file(one, file) ? path : std::filesystem::path();
  constexpr auto kSkip = std::filesystem::directory_options::skip_permission_denied;
  std::error_code error;
  for (std::filesystem::recursive_directory_iterator at(path, kSkip, error), end;
       !error && at != end; at.increment(error)) {
    if (at.depth() >= kDeepest) at.disable_recursion_pending();
    if (::stat(at->path().c_str(), &one) == 0 && same_file(one, file)) return at->path();
  }
  return {};
}

}  // namespace

void require_replaceable(const std::filesystem::path& file) {
  struct stat status = {};
  if (::stat(file.c_str(), &status) != 0) return;  // what is not there can be made, or open() says
  if (!S_ISREG(status.st_mode)) cannot_write(file, "not a regular file");
  if (::faccessat(AT_FDCWD, file.c_str(), W_OK, AT_EACCESS) != 0) cannot_write(file);
}

void require_no_input(const std::filesystem::path& output,
                      std::span<const std::filesystem::path> inputs) {
  struct stat file = {}, stream = {};
  if (::stat(output.c_str(), &file) != 0 || !S_ISREG(file.st_mode)) return;
  const auto refuse = [&](const std::string& input) {
    throw std::invalid_argument(output.string() + ": is " + input +
                                ", which this command uses, and is not overwritten: write to "
                                "another file");
  };
  for (const auto& input : inputs) {
    const auto found = found_in(input, file);
    if (!found.empty()) refuse(found.string());
  }
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO}) {
    if (::fstat(descriptor, &stream) == 0 && same_file(stream, file))
      refuse(descriptor == STDIN_FILENO ? "the standard input" : "the standard output");
  }
}

int open_partial(const std::filesystem::path& partial, const std::filesystem::path& file,
                 unsigned mode) {
  constexpr int kTries = 8;  // each lost to another process that made one and was gone again
  for (int tries = 0; tries < kTries; ++tries) {
    const int fresh = ::open(partial.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                             static_cast<mode_t>(mode));
    if (fresh >= 0) {
      struct stat status = {};
      if (::flock(fresh, LOCK_EX | LOCK_NB) == 0 && ::fstat(fresh, &status) == 0 &&
          status.st_nlink > 0) {
        return fresh;
      }
      ::close(fresh);
      continue;
    }
    if (errno != EEXIST) cannot_write(file);
    const int old = ::open(partial.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    const bool at_work = old >= 0 && ::flock(old, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    if (!at_work) ::unlink(partial.c_str());
    if (old >= 0) ::close(old);
    if (at_work) break;
  }
  cannot_write(file, "another process is writing it");
}

AppendFile::AppendFile(std::filesystem::path file) : file_(std::move(file)) {
  descriptor_ = ::open(file_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (descriptor_ < 0) cannot_write(file_);
}

AppendFile::~AppendFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void AppendFile::append(std::string_view text) {
  const off_t before = ::lseek(descriptor_, 0, SEEK_END);
  if (write_all(descriptor_, text.data(), text.size())) return;
  const int reason = errno;
  if (before >= 0) [[maybe_unused]]
    const int cut = ::ftruncate(descriptor_, before);
  errno = reason;
  cannot_write(file_);
}

void AppendFile::sync() {
  if (::fsync(descriptor_) != 0) cannot_write(file_);
}

WholeFile::WholeFile(std::filesystem::path file)
    : file_(std::move(file)),
      target_(target_of(file_)),
      fresh_(target_.parent_path() / ("." + target_.filename().string() + ".partial")) {
  require_replaceable(file_);
  struct stat before = {};
  const bool replaces = ::stat(target_.c_str(), &before) == 0;
  descriptor_ = open_partial(fresh_, file_, replaces ? 0600 : 0666);
  if (!replaces) return;
  try {
    keep_rights(descriptor_, before, file_);
  } catch (...) {
    remove_partial();
    throw;
  }
}

WholeFile::~WholeFile() {
  if (descriptor_ >= 0) remove_partial();
}

// While it is locked, so that it is no other's.
void WholeFile::remove_partial() {
  ::unlink(fresh_.c_str());
  ::close(std::exchange(descriptor_, -1));
}

void WholeFile::write(const void* data, std::size_t bytes) {
  if (!write_all(descriptor_, data, bytes)) cannot_write(file_);
}

void WholeFile::finish() {
  if (::fsync(descriptor_) != 0) cannot_write(file_);
  if (::rename(fresh_.c_str(), target_.c_str()) != 0) cannot_write(file_);
  ::close(std::exchange(descriptor_, -1));
}

void replace_file(const std::filesystem::path& file, std::string_view text) {
  WholeFile whole(file);
  whole.write(text);
  whole.finish();
}

}  // namespace octlm::formats
