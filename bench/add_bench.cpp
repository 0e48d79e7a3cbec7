// The residual connection over hidden states.
#include "bench/operands.h"
#include "bench/probes.h"
#include "model/ops/add.h"

namespace octlm::bench {
namespace {

using model::DType;

void add(benchmark::State& state) {
  const std::int64_t rows = state.range(0), hidden = state.range(1);
  const auto backend = make_cpu_backend();
  Operand x(DType::kFloat32, {rows, hidden}), sum(DType::kFloat32, {rows, hidden});
  for (auto _ : state) {
    model::ops::add(*backend, x.view(), sum.view());
    benchmark::ClobberMemory();
  }
  const auto elements = static_cast<double>(rows) * static_cast<double>(hidden);
  report(state, {elements * 12, elements}, default_threads());
}

BENCHMARK(add)
    ->ArgNames({"rows", "hidden"})
    ->UseRealTime()
    ->Unit(benchmark::kMicrosecond)
    ->MinTime(0.1)
    ->Args({1, 1024})
    ->Args({200, 1024})
    ->Args({200, 576});

}  // namespace
}  // namespace octlm::bench

BENCHMARK_MAIN();
