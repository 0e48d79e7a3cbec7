#include "verify/output_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>

namespace octlm::verify {
namespace {

[[noreturn]] void cannot_write(const std::filesystem::path& file) {
  throw std::runtime_error(file.string() + ": cannot be written: " + std::strerror(errno));
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
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor_, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      const int reason = written < 0 ? errno : ENOSPC;
      if (before >= 0) [[maybe_unused]]
        const int cut = ::ftruncate(descriptor_, before);
      errno = reason;
      cannot_write(file_);
    }
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

void AppendFile::sync() {
  if (::fsync(descriptor_) != 0) cannot_write(file_);
}

void replace_file(const std::filesystem::path& file, std::string_view text) {
  const std::filesystem::path fresh =
      file.parent_path() / ("." + file.filename().string() + ".partial");
  std::error_code error;
  std::filesystem::remove(fresh, error);
  AppendFile(fresh).append(text);
  std::filesystem::rename(fresh, file, error);
  if (!error) return;
  std::error_code ignored;
  std::filesystem::remove(fresh, ignored);
  throw std::runtime_error(file.string() + ": cannot be written: " + error.message());
}

}  // namespace octlm::verify
