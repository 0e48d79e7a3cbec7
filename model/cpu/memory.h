// Aligned host memory for the CPU backends.
#pragma once

#include <cstddef>
#include <cstdint>

namespace octlm::model::cpu {

// 64-byte aligned; from 4 MiB up on 2-MiB pages where the system offers them. Throws
// std::bad_alloc.
void* allocate_aligned(std::size_t bytes);
void release_aligned(void* data, std::size_t bytes) noexcept;

// Scratch that grows and is kept: no allocation in steady state.
class Scratch {
 public:
  Scratch() = default;
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() { release_aligned(data_, bytes_); }

  // Room for that many; what was there is lost when it has to grow. Throws std::bad_alloc.
  float* floats(std::int64_t count);
  double* doubles(std::int64_t count);

 private:
  void* grow(std::size_t bytes);

  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace octlm::model::cpu
