#include "reference/recorded/logits_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "formats/safetensors.h"

namespace octlm::reference {
namespace {

constexpr std::int64_t kRow = sizeof(float);
constexpr std::uint64_t kLongestHeader = 1 << 20;  // ours are some hundred bytes

[[noreturn]] void refuse(const std::filesystem::path& file, const std::string& what) {
  throw std::runtime_error("[logits file] " + file.string() + ": " + what);
}

std::string error_text() { return std::strerror(errno); }

}  // namespace

LogitsWriter::LogitsWriter(std::filesystem::path file, const std::string& tensor,
                           std::int64_t positions, std::int64_t vocab)
    : file_(std::move(file)), rows_left_(positions), vocab_(vocab) {
  const auto bytes = static_cast<std::uint64_t>(positions * vocab * kRow);
  const formats::StoredTensor stored{tensor, "F32", {positions, vocab}, 0, bytes};
  const std::string start = formats::safetensors_start({&stored, 1});
  write(start.data(), start.size());
}

void LogitsWriter::write(const void* data, std::size_t bytes) {
  sha256_.update(data, bytes);
  file_.write(data, bytes);
}

void LogitsWriter::append(const float* rows, std::int64_t count) {
  if (count > rows_left_)
    throw std::invalid_argument("[logits file] more rows than were announced");
  rows_left_ -= count;
  write(rows, static_cast<std::size_t>(count * vocab_ * kRow));
}

std::string LogitsWriter::finish() {
  if (rows_left_ != 0) throw std::invalid_argument("[logits file] fewer rows than were announced");
  file_.finish();
  return sha256_.hex();
}

LogitsReader::LogitsReader(std::filesystem::path file) : file_(std::move(file)) {
  // O_NONBLOCK: opening a FIFO must fail the check, not wait for a writer.
  descriptor_ = open(file_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor_ < 0) refuse(file_, "cannot be opened (" + error_text() + ")");
  try {
    read_header();
  } catch (...) {
    close(descriptor_);
    throw;
  }
}

LogitsReader::~LogitsReader() { close(descriptor_); }

void LogitsReader::read_bytes(std::int64_t offset, void* into, std::int64_t bytes) const {
  auto* next = static_cast<char*>(into);
  while (bytes > 0) {
    const ssize_t got = pread(descriptor_, next, static_cast<std::size_t>(bytes), offset);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) refuse(file_, "ends before byte " + std::to_string(offset + bytes));
    next += got;
    offset += got;
    bytes -= got;
  }
}

void LogitsReader::read_header() {
  struct stat status {};
  if (fstat(descriptor_, &status) != 0 || !S_ISREG(status.st_mode))
    refuse(file_, "not a regular file");
  const std::string where = "[logits file] " + file_.string();
  const auto file_bytes = static_cast<std::uint64_t>(status.st_size);
  std::string start(std::min(file_bytes, formats::kSafetensorsLengthBytes), '\0');
  read_bytes(0, start.data(), std::ssize(start));
  const std::uint64_t length =
      formats::safetensors_header_bytes(start, file_bytes, where, kLongestHeader);
  std::string text(length, '\0');
  read_bytes(std::ssize(start), text.data(), std::ssize(text));
  const std::int64_t data = std::ssize(start) + std::ssize(text);
  constexpr std::string_view kFloat32 = "F32";
  for (const auto& stored :
       formats::parse_safetensors_header(text, file_bytes, {&kFloat32, 1}, where)) {
    if (stored.shape.size() != 2) refuse(file_, stored.name + " must have two extents");
    tensors_[stored.name] = {stored.shape[0], stored.shape[1],
                             data + static_cast<std::int64_t>(stored.begin)};
  }
}

const LogitsReader::Tensor& LogitsReader::tensor(const std::string& name) const {
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) refuse(file_, "has no tensor " + name);
  return found->second;
}

void LogitsReader::read(const Tensor& tensor, std::int64_t first, std::int64_t count,
                        float* rows) const {
  assert(first >= 0 && count >= 0 && first + count <= tensor.positions);
  read_bytes(tensor.offset + first * tensor.vocab * kRow, rows, count * tensor.vocab * kRow);
}

}  // namespace octlm::reference
