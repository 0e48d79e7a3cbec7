// One safetensors file of a checkpoint, mapped or read (formats/safetensors.h has the layout).
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "model/tensor.h"

namespace octlm::model {

struct SafetensorsEntry {
  std::string name;
  // F32, F16 or BF16 in the file; all other dtypes are refused by name.
  DType dtype = DType::kFloat32;
  Shape shape;
  // Of the first byte, from the start of the file.
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

// The entries of a file, in the order of their offsets. `file` is the whole file. Throws
// std::runtime_error: "<where>: [tensor 'name':] what is wrong".
std::vector<SafetensorsEntry> parse_safetensors(std::span<const std::byte> file,
                                                const std::string& where);

// An open file and its bytes. Views of its tensors live as long as it does.
class SafetensorsFile {
 public:
  // Maps the file read-only, or reads it into memory of our own. A mapped file that is cut short
  // afterwards is a SIGBUS at the next access, unless the program outlives it (formats/cut_files.h)
  // and asks unchanged(); a library that must not be ended by it reads
  // (NVIDIA/TensorRT-LLM#17368). Throws std::runtime_error:
  // not there, not a regular file, or anything parse_safetensors refuses.
  SafetensorsFile(const std::filesystem::path& path, bool read_instead_of_map);
  ~SafetensorsFile();
  SafetensorsFile(SafetensorsFile&&) noexcept;
  SafetensorsFile& operator=(SafetensorsFile&&) noexcept;

  const std::filesystem::path& path() const;
  const std::vector<SafetensorsEntry>& entries() const;
  // REQUIRES: entry is one of entries(). The address need not be aligned for the dtype.
  const std::byte* data(const SafetensorsEntry& entry) const;
  // Size and modification time are those at opening. A file replaced by renaming another over it
  // stays what it was for us; one written to in place does not.
  bool unchanged() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace octlm::model
