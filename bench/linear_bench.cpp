// y = x W^T at the shapes of Qwen3-0.6B and SmolLM2-135M: prefill rows and decode.
#include <vector>

#include "bench/operands.h"
#include "bench/probes.h"
#include "model/ops/linear.h"

namespace octlm::bench {
namespace {

using model::DType;

void linear(benchmark::State& state, DType stored) {
  const std::int64_t rows = state.range(0), out = state.range(1), in = state.range(2);
  const auto backend = make_cpu_backend();
  auto operands = weight_copies(stored, {out, in});
  std::vector<model::Weight> weights;
  for (Operand& operand : operands) weights.push_back(backend->make_weight(operand.view()));
  Operand x(DType::kFloat32, {rows, in}), y(DType::kFloat32, {rows, out});
  std::size_t next = 0;
  for (auto _ : state) {
    model::ops::linear(*backend, x.view(), weights[next], y.view());
    benchmark::ClobberMemory();
    next = (next + 1) % weights.size();
  }
  const auto elements = static_cast<double>(out) * static_cast<double>(in);
  report(state,
         {elements * static_cast<double>(model::dtype_bytes(stored)) +
              static_cast<double>(rows) * static_cast<double>(in + out) * 4,
          2.0 * elements * static_cast<double>(rows)},
         default_threads());
}

void shapes(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"rows", "out", "in"})
      ->UseRealTime()
      ->Unit(benchmark::kMicrosecond)
      ->MinTime(0.2);
  for (const std::int64_t rows : {1, 7, 20, 65, 200}) {
    for (const auto& [out, in] : {std::pair{2048, 1024},
                                  {1024, 2048},
                                  {3072, 1024},
                                  {1024, 3072},
                                  {576, 576},
                                  {1536, 576},
                                  {576, 1536}}) {
      bench->Args({rows, out, in});
    }
  }
  bench->Args({1, 151936, 1024})->Args({64, 151936, 1024});
}

BENCHMARK_CAPTURE(linear, bfloat16, DType::kBFloat16)->Apply(shapes);
BENCHMARK_CAPTURE(linear, float32, DType::kFloat32)->Apply(shapes);

}  // namespace
}  // namespace octlm::bench

BENCHMARK_MAIN();
