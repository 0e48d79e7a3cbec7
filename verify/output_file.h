// A report's file, written so that a full disk is an error and not a shorter report.
#pragma once

#include <filesystem>
#include <string_view>

namespace octlm::verify {

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

// The file holds `text` and nothing else, and whoever reads it sees what it held before or all of
// this. Throws as AppendFile does.
void replace_file(const std::filesystem::path& file, std::string_view text);

}  // namespace octlm::verify
