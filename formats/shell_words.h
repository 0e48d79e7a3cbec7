// Words of a command that is printed to be typed again.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace octlm::formats {

// The word as a shell reads it back: as it is where nothing in it means anything to a shell, else
// in single quotes, or, where control characters would break the line it is printed in, in bash's
// and zsh's $'...'.
std::string shell_quoted(std::string_view word);

// The same for every POSIX shell, which may know no $'...': what is printed by it may have several
// lines.
std::string posix_quoted(std::string_view word);

// shell_quoted of a file given as an argument: one that begins with a dash would be taken for an
// option.
std::string shell_file(const std::filesystem::path& file);

}  // namespace octlm::formats
