#include "bench/probes.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace octlm::bench {
namespace {

using Clock = std::chrono::steady_clock;

// Seconds in which all threads ran body(thread), the slowest counting; the best of `tries`.
double best_seconds(int threads, int tries, const std::function<void(int)>& body) {
  double best = 1e30;
  for (int attempt = 0; attempt < tries; ++attempt) {
    std::vector<std::thread> others;
    const auto start = Clock::now();
    for (int thread = 1; thread < threads; ++thread) others.emplace_back(body, thread);
    body(0);
    for (std::thread& other : others) other.join();
    best = std::min(best, std::chrono::duration<double>(Clock::now() - start).count());
  }
  return best;
}

std::uint64_t sum(const std::uint64_t* data, std::size_t count) {
  std::uint64_t total[8] = {};
  for (std::size_t i = 0; i + 8 <= count; i += 8) {
    for (std::size_t lane = 0; lane < 8; ++lane) total[lane] += data[i + lane];
  }
  return total[0] + total[1] + total[2] + total[3] + total[4] + total[5] + total[6] + total[7];
}

constexpr std::int64_t kRepeats = 1'000'000;

#if defined(__x86_64__)
// 16 accumulators: more than latency times width of any CPU so far (4 cycles x 2 units).
__attribute__((target("avx512f"))) float fma_avx512(float seed) {
  __m512 a[16];
  for (auto& v : a) v = _mm512_set1_ps(seed);
  const __m512 b = _mm512_set1_ps(0.999f), c = _mm512_set1_ps(1e-9f);
  for (std::int64_t k = 0; k < kRepeats; ++k) {
#pragma GCC unroll 16
    for (auto& v : a) v = _mm512_fmadd_ps(v, b, c);
  }
  __m512 total = a[0];
  for (int i = 1; i < 16; ++i) total = _mm512_add_ps(total, a[i]);
  return _mm512_cvtss_f32(total);
}

__attribute__((target("avx2,fma"))) float fma_avx2(float seed) {
  __m256 a[12];
  for (auto& v : a) v = _mm256_set1_ps(seed);
  const __m256 b = _mm256_set1_ps(0.999f), c = _mm256_set1_ps(1e-9f);
  for (std::int64_t k = 0; k < kRepeats; ++k) {
#pragma GCC unroll 12
    for (auto& v : a) v = _mm256_fmadd_ps(v, b, c);
  }
  __m256 total = a[0];
  for (int i = 1; i < 12; ++i) total = _mm256_add_ps(total, a[i]);
  return _mm256_cvtss_f32(total);
}
#endif

float fma_scalar(float seed) {
  float a[8];
  for (float& v : a) v = seed;
  for (std::int64_t k = 0; k < kRepeats; ++k) {
#pragma GCC unroll 8
    for (float& v : a) v = v * 0.999f + 1e-9f;
  }
  return a[0] + a[1] + a[2] + a[3] + a[4] + a[5] + a[6] + a[7];
}

struct FmaProbe {
  float (*run)(float);
  double flop;
};

FmaProbe fma_probe() {
  constexpr auto kFlop = 2.0 * static_cast<double>(kRepeats);
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return {fma_avx512, kFlop * 16 * 16};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return {fma_avx2, kFlop * 12 * 8};
#endif
  return {fma_scalar, kFlop * 8};
}

}  // namespace

double read_bytes_per_s(int threads) {
  constexpr std::size_t kWords = std::size_t{256} << 17;
  static const std::unique_ptr<std::uint64_t[]> data = [] {
    std::unique_ptr<std::uint64_t[]> words(new std::uint64_t[kWords]);
    std::fill_n(words.get(), kWords, 1);
    return words;
  }();
  const std::size_t share = kWords / static_cast<std::size_t>(threads);
  const double seconds = best_seconds(threads, 3, [&](int thread) {
    benchmark::DoNotOptimize(sum(data.get() + share * static_cast<std::size_t>(thread), share));
  });
  return static_cast<double>(share * static_cast<std::size_t>(threads) * 8) / seconds;
}

double fma_flop_per_s(int threads) {
  const FmaProbe probe = fma_probe();
  const double seconds = best_seconds(threads, 3, [&](int thread) {
    benchmark::DoNotOptimize(probe.run(static_cast<float>(thread + 1)));
  });
  return probe.flop * threads / seconds;
}

void report(benchmark::State& state, const Work& work, int threads) {
  using benchmark::Counter;
  const double read = read_bytes_per_s(threads), fma = fma_flop_per_s(threads);
  const auto rate = Counter::kIsIterationInvariantRate;
  state.counters["bytes/s"] = Counter(work.bytes, rate, Counter::kIs1000);
  state.counters["FLOP/s"] = Counter(work.flop, rate, Counter::kIs1000);
  state.counters["of_read_probe"] = Counter(work.bytes / read, rate);
  state.counters["of_fma_probe"] = Counter(work.flop / fma, rate);
  state.counters["read_probe_GB/s"] = read * 1e-9;
  state.counters["fma_probe_GFLOP/s"] = fma * 1e-9;
}

}  // namespace octlm::bench
