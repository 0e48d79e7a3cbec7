// SHA-256, as lower-case hex.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

namespace octlm::reference {

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

// Of the ids as little-endian 32-bit integers.
std::string sha256_of_ids(std::span<const std::int32_t> token_ids);
// Throws std::runtime_error when the file cannot be read.
std::string sha256_of_file(const std::filesystem::path& file);

}  // namespace octlm::reference
