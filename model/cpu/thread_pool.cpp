#include "model/cpu/thread_pool.h"

#include <sched.h>

#include <cassert>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>

namespace octlm::model::cpu {
namespace {

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

// Spins while `value` is `old`, for kSpin, then sleeps until it changes.
std::uint32_t wait_while(std::atomic<std::uint32_t>& value, std::uint32_t old) {
  const auto give_up = std::chrono::steady_clock::now() + ThreadPool::kSpin;
  for (;;) {
    for (int i = 0; i < 32; ++i) {
      const std::uint32_t now = value.load(std::memory_order_acquire);
      if (now != old) return now;
      relax();
    }
    if (std::chrono::steady_clock::now() >= give_up) break;
  }
  value.wait(old, std::memory_order_acquire);
  return value.load(std::memory_order_acquire);
}

int cpus_allowed() {
  cpu_set_t* set = CPU_ALLOC(4096);
  const std::size_t bytes = CPU_ALLOC_SIZE(4096);
  int count = 1;
  if (set != nullptr && sched_getaffinity(0, bytes, set) == 0) count = CPU_COUNT_S(bytes, set);
  CPU_FREE(set);
  return count < 1024 ? count : 1024;
}

}  // namespace

ThreadPool::ThreadPool(int threads) {
  if (threads < 0 || threads > 1024) {
    throw std::invalid_argument("[threads] " + std::to_string(threads) + " is not in [0, 1024]");
  }
  if (threads == 0) threads = cpus_allowed();
  for (int thread = 1; thread < threads; ++thread) {
    workers_.emplace_back([this, thread] { work(thread); });
  }
}

ThreadPool::~ThreadPool() {
  stop_.store(true, std::memory_order_relaxed);
  epoch_.fetch_add(1, std::memory_order_release);
  epoch_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

bool ThreadPool::take_one(std::uint32_t epoch, int thread) {
  std::uint64_t open = open_.load(std::memory_order_acquire);
  do {
    if (open >> 32 != epoch || (open & 0xffffffffu) == 0) return false;
  } while (!open_.compare_exchange_weak(open, open - 1, std::memory_order_acquire));
  const std::int64_t index = count_ - static_cast<std::int64_t>(open & 0xffffffffu);
  try {
    call_(task_, index, thread);
  } catch (...) {
    const std::lock_guard lock(failure_mutex_);
    if (!failure_) failure_ = std::current_exception();
  }
  if (unfinished_.fetch_sub(1, std::memory_order_acq_rel) == 1 && thread != 0)
    unfinished_.notify_one();
  return true;
}

void ThreadPool::work(int thread) {
  std::uint32_t seen = 0;
  for (;;) {
    seen = wait_while(epoch_, seen);
    if (stop_.load(std::memory_order_relaxed)) return;
    while (take_one(seen, thread)) {
    }
  }
}

void ThreadPool::run_erased(std::int64_t count, Call call, const void* task) {
  if (count <= 0) return;
  if (workers_.empty() || count == 1) {
    for (std::int64_t index = 0; index < count; ++index) call(task, index, 0);
    return;
  }
  assert(unfinished_.load() == 0 && "[thread_pool] run() within a task");
  if (count > std::numeric_limits<std::uint32_t>::max()) {
    throw std::invalid_argument("[thread_pool] more than 2^32 - 1 tasks");
  }
  call_ = call;
  task_ = task;
  count_ = count;
  const auto tasks = static_cast<std::uint32_t>(count);
  unfinished_.store(tasks, std::memory_order_relaxed);
  const std::uint32_t epoch = epoch_.load(std::memory_order_relaxed) + 1;
  open_.store(std::uint64_t{epoch} << 32 | tasks, std::memory_order_release);
  epoch_.store(epoch, std::memory_order_release);
  epoch_.notify_all();
  while (take_one(epoch, 0)) {
  }
  for (std::uint32_t left = unfinished_.load(std::memory_order_acquire); left != 0;) {
    left = wait_while(unfinished_, left);
  }
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

}  // namespace octlm::model::cpu
