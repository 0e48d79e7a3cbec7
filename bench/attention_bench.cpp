// Attention at the heads of Qwen3-0.6B (16/8 of 128) and SmolLM2-135M (9/3 of 64).
#include "bench/operands.h"
#include "bench/probes.h"
#include "model/ops/attention.h"

namespace octlm::bench {
namespace {

using model::DType;

void attention(benchmark::State& state) {
  const std::int64_t seq = state.range(0), first = state.range(1), heads = state.range(2);
  const std::int64_t kv_heads = state.range(3), head_dim = state.range(4), keys = first + seq;
  const auto backend = make_cpu_backend();
  Operand q(DType::kFloat32, {seq, heads, head_dim}), out(DType::kFloat32, {seq, heads, head_dim});
  Operand k(DType::kFloat32, {kv_heads, keys, head_dim}),
      v(DType::kFloat32, {kv_heads, keys, head_dim});
  for (auto _ : state) {
    model::ops::attention(*backend, q.view(), k.view(), v.view(),
                          {.first_position = first, .scale = 0.088}, out.view());
    benchmark::ClobberMemory();
  }
  // Pairs of a query and a key it sees; a product with the key and one with the value each.
  const double pairs =
      static_cast<double>(seq) * (static_cast<double>(first) + static_cast<double>(seq + 1) / 2);
  report(state,
         {static_cast<double>(2 * kv_heads * keys + 2 * heads * seq) *
              static_cast<double>(head_dim) * 4,
          4.0 * pairs * static_cast<double>(heads * head_dim)},
         default_threads());
}

void shapes(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"seq", "first_position", "heads", "kv_heads", "head_dim"})
      ->UseRealTime()
      ->Unit(benchmark::kMicrosecond)
      ->MinTime(0.2);
  for (const auto& [seq, first] :
       {std::pair{20, 0}, {200, 0}, {2000, 0}, {7, 193}, {1, 199}, {1, 1999}}) {
    bench->Args({seq, first, 16, 8, 128});
    bench->Args({seq, first, 9, 3, 64});
  }
}

BENCHMARK(attention)->Apply(shapes);

}  // namespace
}  // namespace octlm::bench

BENCHMARK_MAIN();
