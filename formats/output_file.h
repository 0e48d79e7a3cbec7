// Files written so that a full disk is an error and not a shorter file.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>

namespace octlm::formats {

// Appends to a file that it creates; what append() has returned from survives this process.
class AppendFile {
 public:
  // Throws std::runtime_error "PATH: cannot be written: No space left on device"; so does append().
  explicit AppendFile(std::filesystem::path file);
  ~AppendFile();
  AppendFile(const AppendFile&) = delete;
  AppendFile& operator=(const AppendFile&) = delete;

  // A write that fails is taken back: what stood there before is whole.
  void append(std::string_view text);
  void sync();

 private:
  std::filesystem::path file_;
  int descriptor_ = -1;
};

// A file that appears whole or not at all: whoever reads it sees what it held before, or all of the
// new. Until finish() only ".NAME.partial" beside it exists, which the destructor removes. A
// symbolic link stays one: the file it names is replaced. Of a file that is there mode and owner
// are kept; where its group cannot be, no other group gets its rights.
class WholeFile {
 public:
  // Throws std::runtime_error "PATH: cannot be written: why"; so do the others. What
  // require_replaceable refuses is refused, and what another process is writing.
  explicit WholeFile(std::filesystem::path file);
  ~WholeFile();
  WholeFile(const WholeFile&) = delete;
  WholeFile& operator=(const WholeFile&) = delete;

  void write(const void* data, std::size_t bytes);
  void write(std::string_view text) { write(text.data(), text.size()); }
  // What was written is on the disk before it has the name.
  void finish();

 private:
  void remove_partial();

  std::filesystem::path file_;
  std::filesystem::path target_;  // what it names, by way of links
  std::filesystem::path fresh_;
  int descriptor_ = -1;
};

// The file holds `text` and nothing else. Throws as WholeFile does.
void replace_file(const std::filesystem::path& file, std::string_view text);

// Throws std::runtime_error "PATH: cannot be written: not a regular file" when a folder, a device,
// a FIFO or a socket has the name, by way of a link or not; and for a file that may not be written.
void require_replaceable(const std::filesystem::path& file);

// Throws std::invalid_argument when `output` is there and is one of `inputs`, by another path, a
// symbolic link or a hard link, or the file that stdin or stdout is. A folder among the inputs
// stands for the files in it. Before anything is opened for writing.
void require_no_input(const std::filesystem::path& output,
                      std::span<const std::filesystem::path> inputs);

// A new file for what is not whole yet, open for reading and writing, and locked while it is open.
// One of that name that nobody has locked was left by a process that was killed, and makes way; a
// link is never followed. `file`, which it is for, names it in messages.
int open_partial(const std::filesystem::path& partial, const std::filesystem::path& file,
                 unsigned mode);

}  // namespace octlm::formats
