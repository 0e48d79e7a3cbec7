// Logits in a safetensors file: float32 tensors [positions, vocab]. Written a block of rows at a
// time and read a block of rows at a time, so that neither side ever holds a whole tensor.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

#include "formats/output_file.h"
#include "formats/sha256.h"

namespace octlm::reference {

// Writes one tensor. The file appears under its name only when it is complete, at finish().
class LogitsWriter {
 public:
  LogitsWriter(std::filesystem::path file, const std::string& tensor, std::int64_t positions,
               std::int64_t vocab);

  // The next `count` rows. Throws std::runtime_error when the disk is full, std::invalid_argument
  // when there are more rows than announced.
  void append(const float* rows, std::int64_t count);
  // Flushes to disk, renames, and returns the sha256 of the file. REQUIRES: all rows were appended.
  std::string finish();

 private:
  void write(const void* data, std::size_t bytes);

  formats::WholeFile file_;
  formats::Sha256 sha256_;
  std::int64_t rows_left_;
  std::int64_t vocab_;
};

// Opening checks everything: header length and JSON, dtype F32, two extents, sizes that agree with
// the offsets without overflow, offsets inside the file, no overlap, no byte left over. Read with
// pread, not mapped, so that a file cut short later is an error and not a crash.
class LogitsReader {
 public:
  // Throws std::runtime_error with file and place.
  explicit LogitsReader(std::filesystem::path file);
  ~LogitsReader();
  LogitsReader(const LogitsReader&) = delete;
  LogitsReader& operator=(const LogitsReader&) = delete;

  struct Tensor {
    std::int64_t positions = 0;
    std::int64_t vocab = 0;
    std::int64_t offset = 0;  // in the file
  };
  // Throws std::runtime_error when the file has no such tensor.
  const Tensor& tensor(const std::string& name) const;
  // Rows [first, first + count) into `rows`, room for count * vocab. REQUIRES: inside the tensor.
  void read(const Tensor& tensor, std::int64_t first, std::int64_t count, float* rows) const;

 private:
  void read_header();
  void read_bytes(std::int64_t offset, void* into, std::int64_t bytes) const;

  std::filesystem::path file_;
  int descriptor_ = -1;
  std::map<std::string, Tensor> tensors_;
};

}  // namespace octlm::reference
