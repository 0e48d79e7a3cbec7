// SiLU(gate) * up over the intermediate width of Qwen3-0.6B and SmolLM2-135M.
#include "bench/operands.h"
#include "bench/probes.h"
#include "model/ops/silu_mul.h"

namespace octlm::bench {
namespace {

using model::DType;

void silu_mul(benchmark::State& state) {
  const std::int64_t rows = state.range(0), intermediate = state.range(1);
  const auto backend = make_cpu_backend();
  Operand gate(DType::kFloat32, {rows, intermediate}), up(DType::kFloat32, {rows, intermediate});
  Operand out(DType::kFloat32, {rows, intermediate});
  for (auto _ : state) {
    model::ops::silu_mul(*backend, gate.view(), up.view(), out.view());
    benchmark::ClobberMemory();
  }
  const auto elements = static_cast<double>(rows) * static_cast<double>(intermediate);
  // The exponential's polynomial and reduction, the sum, quotient and product: about 24 operations.
  report(state, {elements * 12, elements * 24}, default_threads());
}

BENCHMARK(silu_mul)
    ->ArgNames({"rows", "intermediate"})
    ->UseRealTime()
    ->Unit(benchmark::kMicrosecond)
    ->MinTime(0.1)
    ->Args({1, 3072})
    ->Args({200, 3072})
    ->Args({200, 1536});

}  // namespace
}  // namespace octlm::bench

BENCHMARK_MAIN();
