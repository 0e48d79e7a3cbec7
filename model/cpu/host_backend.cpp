#include "model/cpu/host_backend.h"

#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "model/cpu/memory.h"

namespace octlm::model::cpu {
namespace {

// A copy that a handle keeps.
struct Copy final : Resident {
  explicit Copy(const ConstTensorView& tensor) : bytes(tensor.bytes()) {
    data = allocate_aligned(bytes);
    if (bytes > 0) std::memcpy(data, tensor.data, bytes);
  }
  ~Copy() override { release_aligned(data, bytes); }
  Copy(const Copy&) = delete;
  Copy& operator=(const Copy&) = delete;

  void* data;
  std::size_t bytes;
};

Weight copied(const ConstTensorView& tensor) {
  auto copy = std::make_unique<Copy>(tensor);
  const ConstTensorView values{copy->data, tensor.dtype, tensor.shape};
  return Weight(values, std::move(copy));
}

}  // namespace

std::string HostBackend::with_threads(const std::string& what) const {
  const int threads = pool_.threads();
  return what + ", " + std::to_string(threads) + (threads == 1 ? " thread" : " threads");
}

ConstTensorView HostBackend::on_host(ConstTensorView here, std::vector<std::byte>&) { return here; }

void* HostBackend::allocate_bytes(std::size_t bytes) { return allocate_aligned(bytes); }
void HostBackend::release_bytes(void* data, std::size_t bytes) noexcept {
  release_aligned(data, bytes);
}

void HostBackend::copy_in(const void* host, void* here, std::size_t bytes) {
  if (bytes > 0) std::memcpy(here, host, bytes);
}
void HostBackend::copy_out(const void* here, void* host, std::size_t bytes) {
  if (bytes > 0) std::memcpy(host, here, bytes);
}

Weight HostBackend::place_weight(const ConstTensorView& host) { return Weight(host); }

ResidentRopeTable HostBackend::place_rope_table(const ConstTensorView& cos,
                                                const ConstTensorView& sin) {
  return {copied(cos), copied(sin)};
}

}  // namespace octlm::model::cpu
