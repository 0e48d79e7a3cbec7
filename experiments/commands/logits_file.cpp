#include "experiments/commands/logits_file.h"

#include <fcntl.h>
#include <sys/sendfile.h>
#include <unistd.h>

#include <bit>
#include <cassert>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace octlm::experiments {

static_assert(std::endian::native == std::endian::little, "safetensors are little-endian");

LogitsFile::LogitsFile(const std::filesystem::path& file)
    : file_(file),
      data_file_(file.string() + ".data.partial"),
      whole_file_(file.string() + ".partial") {
  data_ = open(data_file_.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (data_ < 0) fail("cannot be written");
}

LogitsFile::~LogitsFile() {
  if (data_ >= 0) close(data_);
  std::error_code ignored;
  std::filesystem::remove(data_file_, ignored);
  std::filesystem::remove(whole_file_, ignored);
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
  const std::int64_t offset = entries_.empty() ? 0 : entries_.back().end;
  entries_.push_back({name, positions, vocab, offset, offset});
}

void LogitsFile::append(const float* values, std::int64_t count) {
  assert(!entries_.empty());
  const auto bytes = static_cast<std::size_t>(count) * sizeof(float);
  write_all(data_, values, bytes);
  entries_.back().end += static_cast<std::int64_t>(bytes);
}

void LogitsFile::drop() {
  assert(!entries_.empty());
  const std::int64_t offset = entries_.back().begin;
  entries_.pop_back();
  if (ftruncate(data_, offset) != 0 || lseek(data_, offset, SEEK_SET) != offset) {
    fail("cannot be shortened");
  }
}

void LogitsFile::finish() {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  header["__metadata__"] = {{"format", "pt"}};
  for (const Entry& entry : entries_) {
    assert(entry.end - entry.begin == entry.positions * entry.vocab * 4);
    header[entry.name] = {{"dtype", "F32"},
                          {"shape", {entry.positions, entry.vocab}},
                          {"data_offsets", {entry.begin, entry.end}}};
  }
  std::string text = header.dump();
  text.append((8 - text.size() % 8) % 8, ' ');  // the data starts aligned
  const std::uint64_t length = text.size();

  const int whole = open(whole_file_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (whole < 0) fail("cannot be written");
  try {
    write_all(whole, &length, sizeof length);
    write_all(whole, text.data(), text.size());
    off_t offset = 0;
    const std::int64_t end = entries_.empty() ? 0 : entries_.back().end;
    while (offset < end) {
      const ssize_t copied =
          sendfile(whole, data_, &offset, static_cast<std::size_t>(end - offset));
      if (copied < 0 && errno == EINTR) continue;
      if (copied <= 0) fail("write failed");
    }
  } catch (...) {
    close(whole);
    throw;
  }
  if (close(whole) != 0) fail("write failed");
  std::filesystem::rename(whole_file_, file_);
}

}  // namespace octlm::experiments
