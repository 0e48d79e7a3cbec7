// The comparison of rows beside the machine's read bandwidth, in alternation and in one run, on
// two threads: rows larger than any cache, each value read once. On a machine shared with others
// the wall clock says little; the ratio of CPU times says what the code costs, the best ratio what
// it can do.
//   build/release/bench/metrics_bench [--threads N] [--rows N] [--blocks N]
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <vector>

#include "verify/metrics/metrics.h"
#include "verify/metrics/metrics_kernels.h"
#include "verify/metrics/workers.h"

namespace octlm::verify {
namespace {

constexpr std::int64_t kColumns = 151'936;  // Qwen3's vocabulary

struct Seconds {
  double wall = 0;
  double processor = 0;  // of the process: all threads together
};

Seconds now() {
  timespec processor;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &processor);
  const auto wall = std::chrono::steady_clock::now().time_since_epoch();
  return {std::chrono::duration<double>(wall).count(),
          static_cast<double>(processor.tv_sec) + 1e-9 * static_cast<double>(processor.tv_nsec)};
}

Seconds timed(const std::function<void()>& work) {
  const Seconds start = now();
  work();
  const Seconds end = now();
  return {end.wall - start.wall, end.processor - start.processor};
}

// Uniform in (-10, 10), never twice the same: a multiplicative generator, for speed.
void fill(std::vector<float>& values, std::uint32_t state) {
  for (float& value : values) {
    state = state * 1664525U + 1013904223U;
    value = static_cast<float>(state >> 8) * 1.1920929e-6F - 10;
  }
}

std::uint64_t read_all(Workers& workers, const std::vector<float>& values) {
  constexpr std::int64_t kWords = 1 << 16;
  const auto pieces = static_cast<std::int64_t>(values.size()) / (2 * kWords);
  std::vector<std::uint64_t> sums(static_cast<std::size_t>(pieces));
  workers.run(pieces, [&](std::int64_t piece) {
    const float* data = values.data() + piece * 2 * kWords;
    std::uint64_t lanes[8] = {};
    for (std::int64_t i = 0; i < kWords; i += 8) {
      std::uint64_t words[8];
      __builtin_prefetch(data + 2 * i + 1024);
      std::memcpy(words, data + 2 * i, sizeof words);
      for (int lane = 0; lane < 8; ++lane) lanes[lane] += words[lane];
    }
    for (const std::uint64_t lane : lanes) sums[static_cast<std::size_t>(piece)] += lane;
  });
  std::uint64_t sum = 0;
  for (const std::uint64_t one : sums) sum += one;
  return sum;
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

struct Arm {
  const char* name;
  double target;
  std::function<void()> work;
  std::vector<double> wall_ratios = {}, processor_ratios = {};
};

int option(int argc, char** argv, const char* name, int otherwise) {
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], name) == 0) return std::atoi(argv[i + 1]);
  }
  return otherwise;
}

int bench(int threads, std::int64_t row_count, int blocks) {
  std::vector<std::int64_t> rows(static_cast<std::size_t>(row_count));
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<std::int64_t>(i);
  std::vector<float> subject(rows.size() * kColumns), reference(rows.size() * kColumns);
  fill(subject, 1);
  fill(reference, 2);
  const double bytes = 2.0 * 4 * static_cast<double>(subject.size());

  Workers workers(threads);
  std::uint64_t checksum = 0;
  const auto probe = [&] { checksum += read_all(workers, subject) + read_all(workers, reference); };
  double seen = 0;
  RowComparison all(threads, true), without_kl(threads, false);
  Arm arms[] = {
      {"element-wise and top-k", 0.8, [&] { without_kl.add_rows(rows, subject, reference); }},
      {"whole family, with KL", 0.4, [&] { all.add_rows(rows, subject, reference); }}};

  std::vector<double> probe_wall, probe_processor;
  for (int block = -1; block < blocks; ++block) {  // the first warms up
    const Seconds before = timed(probe);
    Seconds taken[2];
    for (int i : {0, 1}) taken[i] = timed(arms[block % 2 == 0 ? i : 1 - i].work);
    if (block % 2 != 0) std::swap(taken[0], taken[1]);
    const Seconds after = timed(probe);
    if (block < 0) continue;
    const Seconds read = {(before.wall + after.wall) / 2, (before.processor + after.processor) / 2};
    probe_wall.push_back(bytes / read.wall);
    probe_processor.push_back(bytes / read.processor * threads);
    for (int i : {0, 1}) {
      arms[i].wall_ratios.push_back(read.wall / taken[i].wall);
      arms[i].processor_ratios.push_back(read.processor / taken[i].processor);
    }
  }
  seen += as_number(all.metrics().at("kl_max@1"));
  std::printf("%s, %d threads, %lld rows x %lld x 2 sides (%.0f MB), %d blocks; checks %g %llu\n",
              metric_kernels().front()->instruction_set, threads, static_cast<long long>(row_count),
              static_cast<long long>(kColumns), bytes * 1e-6, blocks, seen,
              static_cast<unsigned long long>(checksum % 1000));
  std::printf("read probe: %.1f GB/s by the wall, %.1f by CPU time\n", median(probe_wall) * 1e-9,
              median(probe_processor) * 1e-9);
  for (const Arm& arm : arms) {
    std::printf(
        "%-24s of the probe: wall median %.2f (best %.2f), CPU time median %.2f; wanted %.1f\n",
        arm.name, median(arm.wall_ratios), *std::ranges::max_element(arm.wall_ratios),
        median(arm.processor_ratios), arm.target);
  }
  return 0;
}

}  // namespace
}  // namespace octlm::verify

int main(int argc, char** argv) {
  return octlm::verify::bench(octlm::verify::option(argc, argv, "--threads", 2),
                              octlm::verify::option(argc, argv, "--rows", 512),
                              octlm::verify::option(argc, argv, "--blocks", 10));
}
