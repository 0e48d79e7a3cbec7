#include "experiments/commands/logits_file.h"

#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "formats/descriptor.h"
#include "formats/output_file.h"

namespace octlm::experiments {

LogitsFile::LogitsFile(const std::filesystem::path& file,
                       std::span<const std::filesystem::path> inputs)
    : file_(file), data_file_(file.string() + ".data.partial") {
  formats::require_no_input(file, inputs);
  formats::require_replaceable(file);
  data_ = formats::open_partial(data_file_, file, 0600);
}

// Removed while it is locked, so that it is no other's.
LogitsFile::~LogitsFile() {
  std::error_code ignored;
  std::filesystem::remove(data_file_, ignored);
  close(data_);
}

void LogitsFile::fail(const std::string& what) const {
  throw std::runtime_error(file_.string() + ": " + what + ": " + std::strerror(errno));
}

void LogitsFile::begin(const std::string& name, std::int64_t positions, std::int64_t vocab) {
  const std::uint64_t offset = entries_.empty() ? 0 : entries_.back().end;
  entries_.push_back({name, "F32", {positions, vocab}, offset, offset});
}

void LogitsFile::append(const float* values, std::int64_t count) {
  assert(!entries_.empty());
  const auto bytes = static_cast<std::size_t>(count) * sizeof(float);
  if (!formats::write_all(data_, values, bytes)) fail("write failed");
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
