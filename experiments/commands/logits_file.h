// Writes logits as a safetensors file, one tensor after the other, without holding them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "formats/safetensors.h"

namespace octlm::experiments {

// The file appears whole, when finish() returns; until then, and when it is destroyed unfinished,
// only partial files beside it exist. Throws std::runtime_error with the path when a disk refuses,
// or what has the name is no file; std::invalid_argument when it is one of `inputs`.
class LogitsFile {
 public:
  LogitsFile(const std::filesystem::path& file, std::span<const std::filesystem::path> inputs);
  ~LogitsFile();
  LogitsFile(const LogitsFile&) = delete;
  LogitsFile& operator=(const LogitsFile&) = delete;

  // Starts a tensor of shape [positions, vocab], float32. append() must follow with exactly its
  // rows.
  void begin(const std::string& name, std::int64_t positions, std::int64_t vocab);
  void append(const float* values, std::int64_t count);
  // Takes back the tensor that was begun last, whole or in part.
  void drop();

  void finish();

 private:
  [[noreturn]] void fail(const std::string& what) const;

  std::filesystem::path file_;
  std::filesystem::path data_file_;  // the tensors' bytes, until the header is known
  int data_ = -1;
  std::vector<formats::StoredTensor> entries_;
};

}  // namespace octlm::experiments
