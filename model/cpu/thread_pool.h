// The CPU backends' threads. Persistent; the caller takes part; tasks are claimed one by one, so
// which thread runs a task varies: a task's result must depend on its index alone.
//
// Workers without work spin for kSpin and then sleep in the kernel: another engine may compute in
// this process, and a spinning pool would take its CPUs.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace octlm::model::cpu {

class ThreadPool {
 public:
  // The gaps between the operations of a forward pass are shorter; anything longer is not worth a
  // CPU.
  static constexpr std::chrono::microseconds kSpin{50};

  // `threads` includes the caller; 0 = the CPUs this process may run on (sched_getaffinity).
  // Throws std::invalid_argument when negative or above 1024.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return static_cast<int>(workers_.size()) + 1; }

  // Calls task(index, thread) for every index in [0, count), thread in [0, threads()), and returns
  // when all are done. Effects of the tasks are visible to the caller. When tasks throw, the others
  // still run and the first exception caught is rethrown. From one thread at a time; not from
  // within a task.
  template <class Task>
  void run(std::int64_t count, const Task& task) {
    run_erased(
        count,
        [](const void* t, std::int64_t index, int thread) {
          (*static_cast<const Task*>(t))(index, thread);
        },
        &task);
  }

 private:
  using Call = void (*)(const void* task, std::int64_t index, int thread);

  void run_erased(std::int64_t count, Call call, const void* task);
  void work(int thread);
  bool take_one(std::uint32_t epoch, int thread);

  // The current job. `open_` is epoch << 32 | tasks not yet claimed: a claim by compare-and-swap
  // fails when the job is over, so a worker that wakes late never touches the next job's fields,
  // which are written only when no claim is outstanding and read only after a claim.
  Call call_ = nullptr;
  const void* task_ = nullptr;
  std::int64_t count_ = 0;
  std::exception_ptr failure_;
  std::mutex failure_mutex_;
  alignas(64) std::atomic<std::uint64_t> open_{0};
  alignas(64) std::atomic<std::uint32_t> unfinished_{0};
  alignas(64) std::atomic<std::uint32_t> epoch_{0};  // what workers sleep on
  std::atomic<bool> stop_{false};
  std::vector<std::thread> workers_;
};

}  // namespace octlm::model::cpu
