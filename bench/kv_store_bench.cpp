// Keys or values of a block of positions into the cache of Qwen3-0.6B.
#include "bench/operands.h"
#include "bench/probes.h"
#include "model/ops/kv_store.h"

namespace octlm::bench {
namespace {

using model::DType;

void kv_store(benchmark::State& state) {
  const std::int64_t seq = state.range(0), kv_heads = 8, head_dim = 128, capacity = 2048;
  const auto backend = make_cpu_backend();
  Operand x(DType::kFloat32, {seq, kv_heads, head_dim}),
      cache(DType::kFloat32, {kv_heads, capacity, head_dim});
  for (auto _ : state) {
    model::ops::kv_store(*backend, x.view(), 100, cache.view());
    benchmark::ClobberMemory();
  }
  report(state, {static_cast<double>(seq * kv_heads * head_dim) * 8, 0.0}, default_threads());
}

BENCHMARK(kv_store)
    ->ArgName("seq")
    ->UseRealTime()
    ->Unit(benchmark::kMicrosecond)
    ->MinTime(0.1)
    ->Arg(1)
    ->Arg(200);

}  // namespace
}  // namespace octlm::bench

BENCHMARK_MAIN();
