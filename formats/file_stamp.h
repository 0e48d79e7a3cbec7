// Which file a name stood for, and in which state, so that it can be told later whether it is still
// that file: what is hashed is then what was loaded.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace octlm::formats {

// Links are followed. The times are in nanoseconds; `changed_ns` (ctime) also moves when contents
// are written and the modification time is set back.
struct FileStamp {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::int64_t bytes = 0;
  std::int64_t modified_ns = 0;
  std::int64_t changed_ns = 0;
  friend bool operator==(const FileStamp&, const FileStamp&) = default;
};

// nullopt when there is nothing of that name, or a folder. Throws FormatError for what is neither a
// file nor a folder: a FIFO, a socket, a device; nothing is opened, so nothing blocks.
std::optional<FileStamp> stamp_of(const std::filesystem::path& file);

// "it had 8 bytes and has 3", "it was replaced by another file", "it is gone": how `now` differs.
std::string difference(const std::optional<FileStamp>& then, const std::optional<FileStamp>& now);

}  // namespace octlm::formats
