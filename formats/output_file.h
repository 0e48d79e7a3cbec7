// Files written so that a full disk is an error and not a shorter file.
#pragma once

#include <cstddef>
#include <filesystem>
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
// new. Until finish() only ".NAME.partial" beside it exists, which the destructor removes.
class WholeFile {
 public:
  // Throws std::runtime_error "PATH: cannot be written: why", also when something that is not a
  // regular file has the name; so do the others.
  explicit WholeFile(std::filesystem::path file);
  ~WholeFile();
  WholeFile(const WholeFile&) = delete;
  WholeFile& operator=(const WholeFile&) = delete;

  void write(const void* data, std::size_t bytes);
  void write(std::string_view text) { write(text.data(), text.size()); }
  // What was written is on the disk before it has the name.
  void finish();

 private:
  std::filesystem::path file_;
  std::filesystem::path fresh_;
  int descriptor_ = -1;
};

// The file holds `text` and nothing else. Throws as WholeFile does.
void replace_file(const std::filesystem::path& file, std::string_view text);

}  // namespace octlm::formats
