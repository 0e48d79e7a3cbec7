#include "formats/output_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>

namespace octlm::formats {
namespace {

[[noreturn]] void cannot_write(const std::filesystem::path& file) {
  throw std::runtime_error(file.string() + ": cannot be written: " + std::strerror(errno));
}

// False with errno when the disk refuses.
bool write_all(int descriptor, const char* data, std::size_t bytes) {
  while (bytes > 0) {
    const ssize_t written = ::write(descriptor, data, bytes);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      if (written == 0) errno = ENOSPC;
      return false;
    }
    data += written;
    bytes -= static_cast<std::size_t>(written);
  }
  return true;
}

}  // namespace

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
      fresh_(file_.parent_path() / ("." + file_.filename().string() + ".partial")) {
  std::error_code error;
  const auto status = std::filesystem::status(file_, error);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    throw std::runtime_error(file_.string() + ": cannot be written: not a regular file");
  }
  std::filesystem::remove(fresh_, error);
  descriptor_ = ::open(fresh_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (descriptor_ < 0) cannot_write(file_);
}

WholeFile::~WholeFile() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  std::error_code ignored;
  std::filesystem::remove(fresh_, ignored);
}

void WholeFile::write(const void* data, std::size_t bytes) {
  if (!write_all(descriptor_, static_cast<const char*>(data), bytes)) cannot_write(file_);
}

void WholeFile::finish() {
  if (::fsync(descriptor_) != 0) cannot_write(file_);
  if (::rename(fresh_.c_str(), file_.c_str()) != 0) cannot_write(file_);
  ::close(std::exchange(descriptor_, -1));
}

void replace_file(const std::filesystem::path& file, std::string_view text) {
  WholeFile whole(file);
  whole.write(text);
  whole.finish();
}

}  // namespace octlm::formats
