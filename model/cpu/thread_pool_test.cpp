#include "model/cpu/thread_pool.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <numeric>
#include <stdexcept>
#include <vector>

namespace octlm::model::cpu {
namespace {

TEST(ThreadPool, RunsEveryTaskOnceAndShowsItsEffects) {
  for (const int threads : {1, 2, 3, 8}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.threads(), threads);
    for (std::int64_t count = 0; count < 200; ++count) {
      // Not atomic: the pool synchronises.
      std::vector<int> done(static_cast<std::size_t>(count), 0);
      pool.run(count, [&](std::int64_t index, int thread) {
        EXPECT_GE(thread, 0);
        EXPECT_LT(thread, threads);
        ++done[static_cast<std::size_t>(index)];
      });
      for (const int times : done)
        ASSERT_EQ(times, 1) << count << " tasks, " << threads << " threads";
    }
  }
}

TEST(ThreadPool, ThreadNumbersAreNotSharedAtOneTime) {
  ThreadPool pool(4);
  std::atomic<int> inside[4] = {};
  pool.run(2000, [&](std::int64_t, int thread) {
    EXPECT_EQ(inside[thread].fetch_add(1), 0);
    inside[thread].fetch_sub(1);
  });
}

TEST(ThreadPool, RethrowsAfterTheOthersAreDoneAndGoesOn) {
  ThreadPool pool(3);
  for (int again = 0; again < 20; ++again) {
    std::atomic<int> done{0};
    const auto task = [&](std::int64_t index, int) {
      if (index == 7) throw std::runtime_error("task 7");
      done.fetch_add(1);
    };
    EXPECT_THROW(pool.run(50, task), std::runtime_error);
    EXPECT_EQ(done.load(), 49);
    std::atomic<std::int64_t> sum{0};
    pool.run(100, [&](std::int64_t index, int) { sum.fetch_add(index); });
    EXPECT_EQ(sum.load(), 4950);
  }
}

TEST(ThreadPool, ManyJobsInARowAfterSleeps) {
  ThreadPool pool(3);
  std::atomic<std::int64_t> sum{0};
  for (int job = 0; job < 2000; ++job) {
    pool.run(3, [&](std::int64_t, int) { sum.fetch_add(1, std::memory_order_relaxed); });
    if (job % 500 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  EXPECT_EQ(sum.load(), 6000);
}

double cpu_seconds() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

// Another engine computes while we wait: the pool must leave it the CPUs.
TEST(ThreadPool, SleepsWhenThereIsNoWork) {
  ThreadPool pool(4);
  pool.run(100, [](std::int64_t, int) {});
  const double before = cpu_seconds();
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_LT(cpu_seconds() - before, 0.03) << "of CPU time in 0.3 s of waiting";
}

TEST(ThreadPool, RefusesAnImpossibleNumber) {
  EXPECT_THROW(ThreadPool(-1), std::invalid_argument);
  EXPECT_THROW(ThreadPool(1025), std::invalid_argument);
  EXPECT_GE(ThreadPool(0).threads(), 1);
}

}  // namespace
}  // namespace octlm::model::cpu
