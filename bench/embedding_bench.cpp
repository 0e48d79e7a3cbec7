// Rows of the embedding of Qwen3-0.6B, widened.
#include <vector>

#include "bench/operands.h"
#include "bench/probes.h"
#include "model/ops/embedding.h"

namespace octlm::bench {
namespace {

using model::DType;

void embedding(benchmark::State& state) {
  const std::int64_t rows = state.range(0), hidden = state.range(1), vocab = 49152;
  const auto backend = make_cpu_backend();
  Operand table(DType::kBFloat16, {vocab, hidden}), out(DType::kFloat32, {rows, hidden});
  const model::Weight weight = backend->make_weight(table.view());
  std::vector<std::int32_t> ids;
  for (std::int64_t r = 0; r < rows; ++r)
    ids.push_back(static_cast<std::int32_t>(r * 7919 % vocab));
  for (auto _ : state) {
    model::ops::embedding(*backend, weight, ids, out.view());
    benchmark::ClobberMemory();
  }
  report(state, {static_cast<double>(rows) * static_cast<double>(hidden) * 6, 0.0},
         default_threads());
}

BENCHMARK(embedding)
    ->ArgNames({"rows", "hidden"})
    ->UseRealTime()
    ->Unit(benchmark::kMicrosecond)
    ->MinTime(0.1)
    ->Args({1, 1024})
    ->Args({200, 1024});

}  // namespace
}  // namespace octlm::bench

BENCHMARK_MAIN();
