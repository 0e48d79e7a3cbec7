// The whole pass: prefill of a prompt with one row of logits, the same with all rows, and one
// decoded token behind a prompt, in float32.
//   OCTLM_CHECKPOINT=DIR build/release/bench/decoder_bench
// Without OCTLM_CHECKPOINT: qwen3-0.6b-synthetic from octlm's cache, which
// `./octlm fetch qwen3-0.6b-synthetic` fills.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "bench/probes.h"
#include "model/checkpoint.h"
#include "model/cpu/backend.h"
#include "model/decoder.h"

namespace octlm::bench {
namespace {

constexpr int kThreads = 2;

std::filesystem::path checkpoint_folder() {
  if (const char* given = std::getenv("OCTLM_CHECKPOINT")) return given;
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  const std::filesystem::path base =
      cache != nullptr ? std::filesystem::path(cache)
                       : std::filesystem::path(home != nullptr ? home : "/") / ".cache";
  return base / "octlm" / "checkpoints" / "qwen3-0.6b-synthetic";
}

struct Loaded {
  model::Checkpoint checkpoint = model::Checkpoint::open(checkpoint_folder());
  std::unique_ptr<model::Backend> backend =
      model::cpu::make_backend({.threads = kThreads, .instruction_set = ""});
  model::Decoder decoder{checkpoint, *backend};

  // Bytes of all projections, and of the head alone: what one token must read.
  double layer_weight_bytes() const {
    double bytes = 0;
    for (const auto& stored : checkpoint.stored()) {
      if (stored.name.starts_with("model.layers."))
        bytes += static_cast<double>(stored.view.bytes());
    }
    return bytes;
  }
  double head_bytes() const {
    return static_cast<double>(checkpoint.tensor("model.embed_tokens.weight").bytes());
  }
  // Multiply-adds of `rows` rows through the layers and `logit_rows` through the head, two each.
  double flop(std::int64_t rows, std::int64_t logit_rows) const {
    const auto& config = checkpoint.config();
    const auto per_layer = static_cast<double>(config.hidden_size * (2 * config.attention_width() +
                                                                     2 * config.key_value_width() +
                                                                     3 * config.intermediate_size));
    return 2 * (static_cast<double>(rows * config.num_hidden_layers) * per_layer +
                static_cast<double>(logit_rows * config.vocab_size * config.hidden_size));
  }
};

Loaded* loaded(benchmark::State& state) {
  static std::unique_ptr<Loaded> instance;
  try {
    if (instance == nullptr) instance = std::make_unique<Loaded>();
  } catch (const std::exception& error) {
    state.SkipWithError(error.what());
  }
  return instance.get();
}

std::vector<std::int32_t> prompt(std::int64_t tokens, std::int64_t vocab) {
  std::vector<std::int32_t> ids(static_cast<std::size_t>(tokens));
  for (std::int64_t i = 0; i < tokens; ++i) {
    ids[static_cast<std::size_t>(i)] = static_cast<std::int32_t>((i * 7919 + 13) % vocab);
  }
  return ids;
}

const model::LogitSink kKeep = [](std::span<const std::int64_t>,
                                  const model::ConstTensorView& logits) {
  benchmark::DoNotOptimize(logits.data);
};

// range(0) tokens; range(1): logits of the last row alone (0) or of all (1).
void BM_Prefill(benchmark::State& state) {
  Loaded* model = loaded(state);
  if (model == nullptr) return;
  const std::int64_t tokens = state.range(0);
  const auto ids = prompt(tokens, model->checkpoint.config().vocab_size);
  std::vector<std::int64_t> wanted(static_cast<std::size_t>(state.range(1) == 1 ? tokens : 1));
  std::iota(wanted.begin(), wanted.end(), tokens - std::ssize(wanted));
  model::KvCache cache(model->checkpoint.config(), *model->backend, tokens);
  for (auto _ : state) {
    cache.reset();
    model->decoder.forward(ids, 0, cache, wanted, kKeep);
  }
  report(
      state,
      {model->layer_weight_bytes() + model->head_bytes(), model->flop(tokens, std::ssize(wanted))},
      kThreads);
}
BENCHMARK(BM_Prefill)
    ->ArgNames({"tokens", "all_logits"})
    ->Args({200, 1})
    ->Args({200, 0})
    ->Args({20, 1})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

// One token behind a prompt of range(0) tokens.
void BM_Decode(benchmark::State& state) {
  Loaded* model = loaded(state);
  if (model == nullptr) return;
  const std::int64_t tokens = state.range(0);
  const auto ids = prompt(tokens + 1, model->checkpoint.config().vocab_size);
  const std::span<const std::int32_t> all(ids);
  model::KvCache cache(model->checkpoint.config(), *model->backend, tokens + 1);
  model->decoder.forward(all.first(static_cast<std::size_t>(tokens)), 0, cache, {}, kKeep);
  const std::vector<std::int64_t> wanted = {tokens};
  for (auto _ : state) {
    cache.crop(tokens);
    model->decoder.forward(all.last(1), tokens, cache, wanted, kKeep);
  }
  report(state, {model->layer_weight_bytes() + model->head_bytes(), model->flop(1, 1)}, kThreads);
}
BENCHMARK(BM_Decode)
    ->ArgName("behind")
    ->Arg(20)
    ->Arg(200)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

}  // namespace
}  // namespace octlm::bench

BENCHMARK_MAIN();
