// RoPE in place over q of Qwen3-0.6B and SmolLM2-135M.
#include "bench/operands.h"
#include "bench/probes.h"
#include "model/ops/rope.h"

namespace octlm::bench {
namespace {

using model::DType;

void rope(benchmark::State& state) {
  const std::int64_t seq = state.range(0), heads = state.range(1), head_dim = state.range(2);
  const auto backend = make_cpu_backend();
  Operand x(DType::kFloat32, {seq, heads, head_dim});
  Operand cos(DType::kFloat32, {seq, head_dim / 2}), sin(DType::kFloat32, {seq, head_dim / 2});
  const auto table = backend->make_rope_table(cos.view(), sin.view());
  for (auto _ : state) {
    model::ops::rope(*backend, x.view(), table, {.first_position = 0});
    benchmark::ClobberMemory();
  }
  const auto elements = static_cast<double>(seq * heads) * static_cast<double>(head_dim);
  report(state, {elements * 8 + static_cast<double>(seq * head_dim) * 4, elements * 3},
         default_threads());
}

BENCHMARK(rope)
    ->ArgNames({"seq", "heads", "head_dim"})
    ->UseRealTime()
    ->Unit(benchmark::kMicrosecond)
    ->MinTime(0.1)
    ->Args({1, 16, 128})
    ->Args({200, 16, 128})
    ->Args({200, 9, 64});

}  // namespace
}  // namespace octlm::bench

BENCHMARK_MAIN();
