// SHA-256 as 64 lower-case hexadecimal digits.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace octlm::formats {

class Sha256 {
 public:
  Sha256();
  ~Sha256();
  void update(const void* data, std::size_t bytes);
  // Ends the computation; call once.
  std::string hex();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

std::string sha256(std::string_view bytes);

// Streams the file. Throws FormatError with the path and why when it cannot be read or is none: a
// FIFO or a device is refused, never waited for.
std::string sha256_file(const std::filesystem::path& file);

}  // namespace octlm::formats
