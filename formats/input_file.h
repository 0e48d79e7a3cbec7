// A file read whole, guarded against what is no file.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

namespace octlm::formats {

inline constexpr std::size_t kMaxFileBytes = std::size_t{64} << 20;

// The bytes of a regular file of at most `limit_bytes`. Throws FormatError with the path for
// anything else, a FIFO or a device included.
std::string read_file(const std::filesystem::path& file, std::size_t limit_bytes = kMaxFileBytes);

}  // namespace octlm::formats
