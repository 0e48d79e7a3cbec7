// One process at a time writes into a folder.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace octlm::formats {

// Held (flock) on the file ".lock" in the folder, which says who holds it and is removed at the
// end. One that a killed process left does not block.
class FolderLock {
 public:
  // Throws std::invalid_argument "DIR: process 1234 is at work in it: ..." when it is held, also by
  // this process; std::runtime_error when the file cannot be made. REQUIRES: the folder is there.
  explicit FolderLock(const std::filesystem::path& folder);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  std::filesystem::path file_;
  int descriptor_ = -1;
};

// "DIR: process 1234 is at work in it: ..." while somebody holds the lock of a folder; makes
// nothing.
std::optional<std::string> at_work_in(const std::filesystem::path& folder);

}  // namespace octlm::formats
