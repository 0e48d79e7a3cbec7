#include "verify/metrics/workers.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

namespace octlm::verify {

struct Workers::State {
  std::mutex mutex;
  std::condition_variable work_is_here;
  std::condition_variable all_are_back;
  std::vector<std::thread> threads;
  std::int64_t round = 0;  // guarded by mutex, as the next three
  std::size_t working = 0;
  bool stopping = false;
  const std::function<void(std::int64_t)>* task = nullptr;
  std::int64_t tasks = 0;
  std::atomic<std::int64_t> next{0};

  void take_tasks() {
    for (std::int64_t i = next++; i < tasks; i = next++) (*task)(i);
  }

  void serve() {
    std::int64_t seen = 0;
    std::unique_lock lock(mutex);
    while (true) {
      work_is_here.wait(lock, [&] { return stopping || round != seen; });
      if (stopping) return;
      seen = round;
      lock.unlock();
      take_tasks();
      lock.lock();
      if (--working == 0) all_are_back.notify_one();
    }
  }
};

Workers::Workers(int threads) : state_(std::make_unique<State>()) {
  const int machine = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  const int wanted = threads > 0 ? threads : machine;
  for (int i = 1; i < wanted; ++i)
    state_->threads.emplace_back([state = state_.get()] { state->serve(); });
}

Workers::~Workers() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->stopping = true;
  }
  state_->work_is_here.notify_all();
  for (std::thread& thread : state_->threads) thread.join();
}

int Workers::threads() const { return static_cast<int>(state_->threads.size()) + 1; }

void Workers::run(std::int64_t tasks, const std::function<void(std::int64_t)>& task) {
  {
    const std::lock_guard lock(state_->mutex);
    state_->task = &task;
    state_->tasks = tasks;
    state_->next = 0;
    state_->working = state_->threads.size();
    ++state_->round;
  }
  state_->work_is_here.notify_all();
  state_->take_tasks();
  std::unique_lock lock(state_->mutex);
  state_->all_are_back.wait(lock, [&] { return state_->working == 0; });
}

}  // namespace octlm::verify
