// The layout of a safetensors file: an 8-byte little-endian header length, a JSON header, then the
// tensors' bytes.
//
//   [0, 8)          N, the header's length
//   [8, 8 + N)      {"name": {"dtype": "BF16", "shape": [2, 3], "data_offsets": [begin, end]}, ...}
//   [8 + N, size)   data; offsets count from here
//
// A header that parses covers its data exactly: no overlap, no hole, no byte before, between or
// after. All arithmetic on sizes is checked, and its time is that of sorting the tensors.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace octlm::formats {

inline constexpr std::uint64_t kSafetensorsLengthBytes = 8;
// The reference implementation's limit on the header's length.
inline constexpr std::uint64_t kMaxSafetensorsHeaderBytes = 100'000'000;

struct StoredTensor {
  std::string name;
  std::string dtype;                // "BF16"
  std::vector<std::int64_t> shape;  // at most four extents >= 0
  std::uint64_t begin = 0;          // in the data
  std::uint64_t end = 0;
};

// The header's length. `start` is the file's first bytes: 8, or all of a shorter file. Throws
// FormatError when that length is beyond the limit or the file, or the file is a Git LFS pointer.
std::uint64_t safetensors_header_bytes(std::string_view start, std::uint64_t file_bytes,
                                       const std::string& where,
                                       std::uint64_t limit_bytes = kMaxSafetensorsHeaderBytes);

// The tensors in the order of their offsets. `header` is the header's text alone; `dtypes` are
// those that the caller can read, of F64, F32, F16, BF16. Throws FormatError: "<where>: [tensor
// 'name':] what is wrong".
std::vector<StoredTensor> parse_safetensors_header(std::string_view header,
                                                   std::uint64_t file_bytes,
                                                   std::span<const std::string_view> dtypes,
                                                   const std::string& where);

// What stands in a file before the data, padded so that the data starts aligned to 8.
// REQUIRES: names differ, and offsets are as the reader wants them.
std::string safetensors_start(std::span<const StoredTensor> tensors);

}  // namespace octlm::formats
