// The safetensors layout: 8 bytes, the header's length, little-endian; the header, a JSON object of
// {name: {dtype, shape, data_offsets}} with offsets from its end; the data.
#include "reference/recorded/logits_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>
#include <vector>

#include "reference/strict_json.h"

namespace octlm::reference {
namespace {

using nlohmann::json;

constexpr std::int64_t kRow = sizeof(float);
constexpr std::int64_t kLongestHeader = 1 << 20;  // ours are some hundred bytes

[[noreturn]] void refuse(const std::filesystem::path& file, const std::string& what) {
  throw std::runtime_error("[logits file] " + file.string() + ": " + what);
}

std::string error_text() { return std::strerror(errno); }

std::string header(const std::string& tensor, std::int64_t positions, std::int64_t vocab) {
  const json entry = {{"dtype", "F32"},
                      {"shape", {positions, vocab}},
                      {"data_offsets", {0, positions * vocab * kRow}}};
  std::string text = json{{tensor, entry}}.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');  // the data starts aligned
  return text;
}

// positions * vocab * 4, or -1 when that does not fit.
std::int64_t bytes_of(std::int64_t positions, std::int64_t vocab) {
  std::int64_t elements = 0, bytes = 0;
  if (__builtin_mul_overflow(positions, vocab, &elements) ||
      __builtin_mul_overflow(elements, kRow, &bytes)) {
    return -1;
  }
  return bytes;
}

}  // namespace

LogitsWriter::LogitsWriter(std::filesystem::path file, const std::string& tensor,
                           std::int64_t positions, std::int64_t vocab)
    : file_(std::move(file)),
      partial_(file_.string() + ".partial"),
      rows_left_(positions),
      vocab_(vocab) {
  stream_ = std::fopen(partial_.c_str(), "wb");
  if (stream_ == nullptr) refuse(partial_, "cannot be written (" + error_text() + ")");
  const std::string text = header(tensor, positions, vocab);
  const std::uint64_t length = text.size();
  write(&length, sizeof length);
  write(text.data(), text.size());
}

LogitsWriter::~LogitsWriter() {
  if (stream_ == nullptr) return;
  std::fclose(stream_);
  std::error_code ignored;
  std::filesystem::remove(partial_, ignored);
}

void LogitsWriter::write(const void* data, std::size_t bytes) {
  sha256_.update(data, bytes);
  if (std::fwrite(data, 1, bytes, stream_) != bytes)
    refuse(partial_, "cannot be written (" + error_text() + ")");
}

void LogitsWriter::append(const float* rows, std::int64_t count) {
  if (count > rows_left_)
    throw std::invalid_argument("[logits file] more rows than were announced");
  rows_left_ -= count;
  write(rows, static_cast<std::size_t>(count * vocab_ * kRow));
}

std::string LogitsWriter::finish() {
  if (rows_left_ != 0) throw std::invalid_argument("[logits file] fewer rows than were announced");
  if (std::fflush(stream_) != 0 || fsync(fileno(stream_)) != 0) {
    refuse(partial_, "cannot be written (" + error_text() + ")");
  }
  std::fclose(std::exchange(stream_, nullptr));
  std::filesystem::rename(partial_, file_);
  return sha256_.hex();
}

LogitsReader::LogitsReader(std::filesystem::path file) : file_(std::move(file)) {
  descriptor_ = open(file_.c_str(), O_RDONLY | O_CLOEXEC);
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
    refuse(file_, "is no regular file");
  std::uint64_t length = 0;
  read_bytes(0, &length, sizeof length);
  if (length > static_cast<std::uint64_t>(kLongestHeader)) {
    refuse(file_, "header of " + std::to_string(length) + " bytes, more than any octlm writes");
  }
  std::string text(length, '\0');
  read_bytes(sizeof length, text.data(), static_cast<std::int64_t>(length));
  const std::int64_t data = static_cast<std::int64_t>(sizeof length + length);
  std::vector<std::pair<std::int64_t, std::int64_t>> ranges;
  const json entries = parse_object(text, "[logits file] " + file_.string() + ": header");
  for (const auto& [name, entry] : entries.items()) {
    if (name == "__metadata__") continue;
    const std::string where = "[logits file] " + file_.string() + ": " + name;
    check_keys(entry, {"dtype", "shape", "data_offsets"}, where);
    const json& shape = entry.at("shape");
    const json& offsets = entry.at("data_offsets");
    if (entry.at("dtype") != "F32")
      refuse(file_, name + " is " + entry.at("dtype").dump() + ", expected F32");
    if (!shape.is_array() || shape.size() != 2 || !offsets.is_array() || offsets.size() != 2) {
      refuse(file_, name + " must have two extents and two offsets");
    }
    const std::int64_t positions = to_count(shape[0], where), vocab = to_count(shape[1], where);
    const std::int64_t begin = to_count(offsets[0], where), end = to_count(offsets[1], where);
    if (begin > end || end - begin != bytes_of(positions, vocab)) {
      refuse(file_, name + " " + shape.dump() + " does not fill its offsets " + offsets.dump());
    }
    ranges.emplace_back(begin, end);
    tensors_[name] = {positions, vocab, data + begin};
  }
  std::sort(ranges.begin(), ranges.end());
  std::int64_t covered = 0;
  for (const auto& [begin, end] : ranges) {
    if (begin != covered)
      refuse(file_, "offsets leave a gap or overlap at " + std::to_string(begin));
    covered = end;
  }
  if (covered != status.st_size - data) {
    refuse(file_, "holds " + std::to_string(status.st_size - data) +
                      " bytes of data, the header describes " + std::to_string(covered));
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
