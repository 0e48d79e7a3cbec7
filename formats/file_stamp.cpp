#include "formats/file_stamp.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "formats/error.h"

namespace octlm::formats {
namespace {

std::int64_t nanoseconds(const struct timespec& time) {
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

}  // namespace

std::optional<FileStamp> stamp_of(const std::filesystem::path& file) {
  struct stat status {};
  if (::stat(file.c_str(), &status) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) return std::nullopt;
    refuse(file.string(), std::string("cannot be examined: ") + std::strerror(errno));
  }
  if (S_ISDIR(status.st_mode)) return std::nullopt;
  if (!S_ISREG(status.st_mode)) refuse(file.string(), "not a regular file");
  return FileStamp{.device = status.st_dev,
                   .inode = status.st_ino,
                   .bytes = status.st_size,
                   .modified_ns = nanoseconds(status.st_mtim),
                   .changed_ns = nanoseconds(status.st_ctim)};
}

std::string difference(const std::optional<FileStamp>& then, const std::optional<FileStamp>& now) {
  if (!then) return "it was not there, and is now";
  if (!now) return "it is gone";
  if (then->device != now->device || then->inode != now->inode) {
    return "another file was put in its place";
  }
  if (then->bytes != now->bytes) {
    return "it had " + std::to_string(then->bytes) + " bytes and has " + std::to_string(now->bytes);
  }
  return "it was written to";
}

}  // namespace octlm::formats
