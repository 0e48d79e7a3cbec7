#include "model/cpu/memory.h"

#include <sys/mman.h>

#include <new>

namespace octlm::model::cpu {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;

std::align_val_t alignment_for(std::size_t bytes) {
  return std::align_val_t{bytes >= 2 * kHugePage ? kHugePage : 64};
}

}  // namespace

void* allocate_aligned(std::size_t bytes) {
  void* data = ::operator new(bytes, alignment_for(bytes));
#ifdef MADV_HUGEPAGE
  if (bytes >= 2 * kHugePage)
    madvise(data, bytes / kHugePage * kHugePage, MADV_HUGEPAGE);  // a hint
#endif
  return data;
}

void release_aligned(void* data, std::size_t bytes) noexcept {
  if (data != nullptr) ::operator delete(data, alignment_for(bytes));
}

void* Scratch::grow(std::size_t bytes) {
  if (bytes > bytes_) {
    void* larger = allocate_aligned(bytes);
    release_aligned(data_, bytes_);
    data_ = larger;
    bytes_ = bytes;
  }
  return data_;
}

float* Scratch::floats(std::int64_t count) {
  return static_cast<float*>(grow(static_cast<std::size_t>(count) * sizeof(float)));
}

double* Scratch::doubles(std::int64_t count) {
  return static_cast<double*>(grow(static_cast<std::size_t>(count) * sizeof(double)));
}

}  // namespace octlm::model::cpu
