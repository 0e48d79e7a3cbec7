// Appending to a file that several processes append to: the ledger and the journal.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

namespace octlm::verify {

// Takes the file's lock (flock), gives `lines` the text that stands there ("" for a new file),
// appends what it returns with one write, and syncs it to the disk. Nothing is written when `lines`
// throws or returns "". A write that fails is taken back: the file is as it was. Creates the file
// and its folder. Throws std::runtime_error "PATH: cannot be written: No space left on device".
void locked_append(const std::filesystem::path& file,
                   const std::function<std::string(std::string_view text)>& lines);

// What stands at the end of a file.
struct FileEnd {
  std::string last_line;  // the last that ends, without its line feed; "" when there is none
  bool torn = false;      // after it stands a piece of a line
};

// The same for a file of which only the end matters, be it as long as it may.
void locked_append_after(const std::filesystem::path& file,
                         const std::function<std::string(const FileEnd& end)>& lines);

}  // namespace octlm::verify
