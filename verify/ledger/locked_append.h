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

}  // namespace octlm::verify
