// What the CPU backends share: their memory is the host's, so weights are used where they lie (the
// mapped file) and nothing needs copying to be read.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "model/cpu/thread_pool.h"
#include "model/ops/backend.h"

namespace octlm::model::cpu {

constexpr std::int64_t divide_up(std::int64_t n, std::int64_t by) { return (n + by - 1) / by; }
constexpr std::int64_t round_up(std::int64_t n, std::int64_t to) { return divide_up(n, to) * to; }

class HostBackend : public Backend {
 public:
  explicit HostBackend(int threads) : pool_(threads) {}

  ConstTensorView on_host(ConstTensorView here, std::vector<std::byte>& room) override;

  // For the operations' files: the threads, and elementwise work cut into pieces for them.
  ThreadPool& pool() { return pool_; }
  const ThreadPool& pool() const { return pool_; }

  // Calls body(first, count) for pieces of [0, rows) of about kElementsPerTask elements.
  template <class Body>
  void for_rows(std::int64_t rows, std::int64_t row_elements, const Body& body) {
    const std::int64_t piece =
        std::max<std::int64_t>(1, kElementsPerTask / std::max<std::int64_t>(1, row_elements));
    pool_.run(divide_up(rows, piece), [&](std::int64_t task, int) {
      body(task * piece, std::min(piece, rows - task * piece));
    });
  }

 protected:
  // "definition float64, 2 threads"
  std::string with_threads(const std::string& what) const;

 private:
  // Below this many elements an elementwise operation is quicker than waking a thread.
  static constexpr std::int64_t kElementsPerTask = 8192;

  void* allocate_bytes(std::size_t bytes) override;
  void release_bytes(void* data, std::size_t bytes) noexcept override;
  void copy_in(const void* host, void* here, std::size_t bytes) override;
  void copy_out(const void* here, void* host, std::size_t bytes) override;
  Weight place_weight(const ConstTensorView& host) override;
  ResidentRopeTable place_rope_table(const ConstTensorView& cos,
                                     const ConstTensorView& sin) override;

  ThreadPool pool_;
};

}  // namespace octlm::model::cpu
