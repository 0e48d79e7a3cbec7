#include "experiments/commands/logits_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "formats/output_file.h"

namespace octlm::experiments {

LogitsFile::LogitsFile(const std::filesystem::path& file)
    : file_(file), data_file_(file.string() + ".data.partial") {
  data_ = open(data_file_.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (data_ < 0) fail("cannot be written");
}

LogitsFile::~LogitsFile() {
  if (data_ >= 0) close(data_);
  std::error_code ignored;
  std::filesystem::remove(data_file_, ignored);
}

void LogitsFile::fail(const std::string& what) const {
  throw std::runtime_error(file_.string() + ": " + what + ": " + std::strerror(errno));
}

void LogitsFile::write_all(int descriptor, const void* data, std::size_t bytes) const {
  const auto* at = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t written = write(descriptor, at, bytes);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail("write failed");
    at += written;
    bytes -= static_cast<std::size_t>(written);
  }
}

void LogitsFile::begin(const std::string& name, std::int64_t positions, std::int64_t vocab) {
  const std::uint64_t offset = entries_.empty() ? 0 : entries_.back().end;
  entries_.push_back({name, "F32", {positions, vocab}, offset, offset});
}

void LogitsFile::append(const float* values, std::int64_t count) {
  assert(!entries_.empty());
  const auto bytes = static_cast<std::size_t>(count) * sizeof(float);
  write_all(data_, values, bytes);
  entries_.back().end += bytes;
}

void LogitsFile::drop() {
  assert(!entries_.empty());
  const auto offset = static_cast<off_t>(entries_.back().begin);
  entries_.pop_back();
  if (ftruncate(data_, offset) != 0 || lseek(data_, offset, SEEK_SET) != offset) {
    fail("cannot be shortened");
  }
}

void LogitsFile::finish() {
  formats::WholeFile whole(file_);
  whole.write(formats::safetensors_start(entries_));
  std::vector<char> block(std::size_t{1} << 20);
  std::uint64_t offset = 0;
  const std::uint64_t end = entries_.empty() ? 0 : entries_.back().end;
  while (offset < end) {
    const ssize_t got =
        pread(data_, block.data(), std::min<std::uint64_t>(block.size(), end - offset),
              static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) fail("cannot be read back");
    whole.write(block.data(), static_cast<std::size_t>(got));
    offset += static_cast<std::uint64_t>(got);
  }
  whole.finish();
}

}  // namespace octlm::experiments
