// What a program that we did not write has written, in pieces that are fit for a sentence.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace octlm::reference {

// Of one program's stdout; the calls of 40,960 positions one by one take 0.6 MB.
constexpr std::size_t kLongestOutput = 4 << 20;

// At most `most` bytes from the end or the start of a file; "" when there is none.
std::string read_some(const std::filesystem::path& file, std::size_t most, bool from_end);
// One line of plain characters, whatever was in it.
std::string printable(const std::string& text);
// The beginning of a line, in quotes.
std::string excerpt(const std::string& line);
std::vector<std::string> lines_of(const std::string& text);

}  // namespace octlm::reference
