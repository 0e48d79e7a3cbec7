// SHA-256 as 64 lower-case hexadecimal digits.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace octlm::verify {

std::string sha256(std::string_view bytes);

// Streams the file. Throws std::runtime_error with the path and why when it cannot be read.
std::string sha256_file(const std::filesystem::path& file);

}  // namespace octlm::verify
