// RMSNorm over hidden states and over the heads of q (q_norm).
#include "bench/operands.h"
#include "bench/probes.h"
#include "model/ops/rms_norm.h"

namespace octlm::bench {
namespace {

using model::DType;

void rms_norm(benchmark::State& state) {
  const std::int64_t rows = state.range(0), hidden = state.range(1);
  const auto backend = make_cpu_backend();
  Operand x(DType::kFloat32, {rows, hidden}), out(DType::kFloat32, {rows, hidden});
  Operand operand(DType::kBFloat16, {hidden});
  const model::Weight weight = backend->make_weight(operand.view());
  for (auto _ : state) {
    model::ops::rms_norm(*backend, x.view(), weight, {.eps = 1e-6}, out.view());
    benchmark::ClobberMemory();
  }
  const auto elements = static_cast<double>(rows) * static_cast<double>(hidden);
  report(state, {elements * 8, elements * 4}, default_threads());
}

BENCHMARK(rms_norm)
    ->ArgNames({"rows", "hidden"})
    ->UseRealTime()
    ->Unit(benchmark::kMicrosecond)
    ->MinTime(0.1)
    ->Args({1, 1024})
    ->Args({200, 1024})
    ->Args({3200, 128})
    ->Args({200, 576});

}  // namespace
}  // namespace octlm::bench

BENCHMARK_MAIN();
