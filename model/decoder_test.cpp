#include "model/decoder.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <numeric>
#include <random>

#include "model/checkpoint.h"
#include "model/cpu/backend.h"
#include "model/testing/tiny_checkpoint.h"

namespace octlm::model {
namespace {

using testing::make_tiny_checkpoint;
using testing::TemporaryFolder;
using testing::TinyOptions;

enum class Arithmetic { kFloat32, kDefinition };

// A tiny checkpoint, opened, with a decoder in either arithmetic.
class Rig {
 public:
  explicit Rig(const TinyOptions& tiny = {}, Arithmetic arithmetic = Arithmetic::kFloat32,
               const Decoder::Options& options = Decoder::Options()) {
    make_tiny_checkpoint(tiny).write(folder_.path());
    checkpoint_ = std::make_unique<Checkpoint>(Checkpoint::open(folder_.path()));
    backend_ = arithmetic == Arithmetic::kFloat32
                   ? cpu::make_backend({.threads = 2, .instruction_set = ""})
                   : cpu::make_definition({.threads = 2, .instruction_set = ""});
    decoder_ = std::make_unique<Decoder>(*checkpoint_, *backend_, options);
  }

  Decoder& decoder() { return *decoder_; }
  std::int64_t vocab() const { return checkpoint_->config().vocab_size; }
  KvCache cache(std::int64_t capacity) { return {checkpoint_->config(), *backend_, capacity}; }

  // Logits [ids.size(), vocab] of one more call.
  std::vector<double> call(std::span<const std::int32_t> ids, KvCache& cache) {
    std::vector<std::int64_t> wanted(ids.size());
    std::iota(wanted.begin(), wanted.end(), cache.length());
    return call(ids, cache, wanted);
  }

  std::vector<double> call(std::span<const std::int32_t> ids, KvCache& cache,
                           std::span<const std::int64_t> wanted) {
    std::vector<double> rows;
    decoder_->forward(ids, cache.length(), cache, wanted,
                      [&](std::span<const std::int64_t>, const ConstTensorView& logits) {
                        const auto count = logits.shape.elements();
                        for (std::int64_t i = 0; i < count; ++i) {
                          rows.push_back(logits.dtype == DType::kFloat64
                                             ? logits.as<double>()[i]
                                             : static_cast<double>(logits.as<float>()[i]));
                        }
                      });
    return rows;
  }

  // The same ids in calls of the given sizes, through one cache.
  std::vector<double> split(std::span<const std::int32_t> ids,
                            const std::vector<std::size_t>& sizes) {
    KvCache kv = cache(std::ssize(ids));
    std::vector<double> rows;
    std::size_t first = 0;
    for (const std::size_t size : sizes) {
      const auto part = call(ids.subspan(first, size), kv);
      rows.insert(rows.end(), part.begin(), part.end());
      first += size;
    }
    EXPECT_EQ(first, ids.size());
    return rows;
  }

  std::vector<double> full(std::span<const std::int32_t> ids) { return split(ids, {ids.size()}); }

 private:
  TemporaryFolder folder_;
  std::unique_ptr<Checkpoint> checkpoint_;
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<Decoder> decoder_;
};

std::vector<std::int32_t> random_ids(std::size_t count, std::int64_t vocab, unsigned seed = 7) {
  std::mt19937 generator(seed);
  std::uniform_int_distribution<std::int32_t> id(0, static_cast<std::int32_t>(vocab) - 1);
  std::vector<std::int32_t> ids(count);
  for (auto& value : ids) value = id(generator);
  return ids;
}

double max_difference(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() != b.size() || a.empty()) return std::numeric_limits<double>::infinity();
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double difference = std::abs(a[i] - b[i]);
    if (!(difference <= worst)) worst = std::isnan(difference) ? HUGE_VAL : difference;
  }
  return worst;
}

double span_of(const std::vector<double>& values) {
  const auto [low, high] = std::ranges::minmax_element(values);
  return *high - *low;
}

// Float32 rounding through a tiny model: logits of size 1 to 10 after 2 layers of 32-wide sums
// leave errors near 1e-6; a mapping or position fault moves them by tenths at least (see the faults
// below).
constexpr double kFloat32Bound = 5e-5;
// The definition rounds at 1e-16; nothing but summation order differs between paths.
constexpr double kDefinitionBound = 1e-12;

class BothArithmetics : public ::testing::TestWithParam<Arithmetic> {
 protected:
  double bound() const {
    return GetParam() == Arithmetic::kFloat32 ? kFloat32Bound : kDefinitionBound;
  }
};
INSTANTIATE_TEST_SUITE_P(Decoder, BothArithmetics,
                         ::testing::Values(Arithmetic::kFloat32, Arithmetic::kDefinition),
                         [](const auto& parameter) {
                           return parameter.param == Arithmetic::kFloat32 ? "float32"
                                                                          : "definition";
                         });

// huggingface/transformers#43082, GeeeekExplorer/nano-vllm#213, huggingface/candle#3743:
// chunk-local positions, offsets added twice, a mask anchored wrongly when the cache is not empty.
TEST_P(BothArithmetics, EverySplitComputesTheSameFunction) {
  for (const char* model_type : {"qwen3", "llama"}) {
    Rig rig({.model_type = model_type}, GetParam());
    const auto ids = random_ids(10, rig.vocab());
    const auto whole = rig.full(ids);
    ASSERT_EQ(whole.size(), 10U * static_cast<std::size_t>(rig.vocab()));
    ASSERT_GT(span_of(whole), 0.5) << "logits this flat could not show a fault";
    const std::vector<std::vector<std::size_t>> splits = {
        {4, 4, 2}, {9, 1}, {1, 9}, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, {3, 3, 3, 1}};
    for (const auto& sizes : splits) {
      EXPECT_LE(max_difference(rig.split(ids, sizes), whole), bound())
          << model_type << " " << sizes.size();
    }
  }
}

TEST_P(BothArithmetics, BlocksOfRowsDoNotShow) {
  Rig whole_rig({}, GetParam());
  const auto ids = random_ids(70, whole_rig.vocab());
  const auto whole = whole_rig.full(ids);
  for (const std::int64_t rows : {1, 7, 32, 69}) {
    Rig rig({}, GetParam(), {.rows_per_block = rows, .logit_rows_per_block = 3});
    EXPECT_LE(max_difference(rig.full(ids), whole), bound()) << rows;
  }
}

TEST(Decoder, Float32AgreesWithTheDefinition) {
  for (const char* model_type : {"qwen3", "llama"}) {
    for (const DType dtype : {DType::kBFloat16, DType::kFloat16, DType::kFloat32}) {
      const TinyOptions tiny{.model_type = model_type, .dtype = dtype};
      Rig fast(tiny);
      Rig definition(tiny, Arithmetic::kDefinition);
      const auto ids = random_ids(65, fast.vocab());
      EXPECT_LE(max_difference(fast.full(ids), definition.full(ids)), kFloat32Bound)
          << model_type << " " << dtype_name(dtype);
    }
  }
}

// The head that is not tied must be the one that is used (huggingface/candle#2930).
TEST(Decoder, UntiedHeadIsUsed) {
  Rig tied({.tie_word_embeddings = true});
  Rig untied({.tie_word_embeddings = false});
  const auto ids = random_ids(5, tied.vocab());
  EXPECT_GT(max_difference(tied.full(ids), untied.full(ids)), 0.01);
}

// Logits of position i are of the token after it, whatever that is: shifted by one they would
// follow it (abetlen/llama-cpp-python#1983, vllm-project/vllm#5846).
TEST(Decoder, LaterTokensDoNotTouchEarlierLogits) {
  Rig rig;
  auto ids = random_ids(64, rig.vocab());
  const auto before = rig.full(ids);
  ids.back() = (ids.back() + 1) % static_cast<std::int32_t>(rig.vocab());
  const auto after = rig.full(ids);
  const std::size_t earlier = 63 * static_cast<std::size_t>(rig.vocab());
  EXPECT_EQ(std::memcmp(before.data(), after.data(), earlier * sizeof(double)), 0);
  EXPECT_NE(std::memcmp(before.data() + earlier, after.data() + earlier,
                        (before.size() - earlier) * sizeof(double)),
            0);
}

// Cached means cached: a stored key or value that is changed changes the next call.
TEST(Decoder, TheNextCallReadsTheCache) {
  Rig rig;
  const auto ids = random_ids(8, rig.vocab());
  const std::span<const std::int32_t> all(ids);
  KvCache kv = rig.cache(8);
  rig.call(all.first(5), kv);
  const auto intact = rig.call(all.subspan(5, 1), kv);
  for (const std::int64_t layer : {0, 1}) {
    for (const bool key : {true, false}) {
      KvCache spoilt = rig.cache(8);
      rig.call(all.first(5), spoilt);
      const TensorView stored = key ? spoilt.keys(layer) : spoilt.values(layer);
      const std::int64_t head_dim = stored.shape[2];
      // kv_head 1, position 2
      float* at = stored.as<float>() + (1 * stored.shape[1] + 2) * head_dim;
      for (std::int64_t i = 0; i < head_dim; ++i) at[i] += 1.0F;
      EXPECT_GT(max_difference(rig.call(all.subspan(5, 1), spoilt), intact), 1e-3)
          << "layer " << layer << (key ? " key" : " value");
    }
  }
}

TEST(Decoder, WantedPositionsAloneAreDelivered) {
  Rig rig;
  const auto ids = random_ids(9, rig.vocab());
  const auto whole = rig.full(ids);
  KvCache kv = rig.cache(9);
  const std::vector<std::int64_t> wanted = {0, 4, 8};
  const auto some = rig.call(ids, kv, wanted);
  ASSERT_EQ(some.size(), 3U * static_cast<std::size_t>(rig.vocab()));
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    for (std::int64_t column = 0; column < rig.vocab(); ++column) {
      const auto vocab = static_cast<std::size_t>(rig.vocab());
      const auto at = static_cast<std::size_t>(column);
      EXPECT_NEAR(some[i * vocab + at], whole[static_cast<std::size_t>(wanted[i]) * vocab + at],
                  kFloat32Bound);
    }
  }
  KvCache none = rig.cache(9);
  EXPECT_TRUE(rig.call(ids, none, {}).empty());
  EXPECT_EQ(none.length(), 9);
}

// ggml-org/llama.cpp#23970: the same request again, another answer.
TEST(Decoder, TheSameRequestGivesTheSameBits) {
  Rig rig;
  const auto ids = random_ids(33, rig.vocab());
  const auto first = rig.full(ids);
  for (int repeat = 0; repeat < 3; ++repeat) {
    const auto again = rig.full(ids);
    EXPECT_EQ(std::memcmp(first.data(), again.data(), first.size() * sizeof(double)), 0);
  }
}

// Two passes in lock-step, as the harness runs them: the second pass is made inside the sink of the
// first.
TEST(Decoder, ASinkMayRunAnotherPass) {
  Rig rig({}, Arithmetic::kFloat32, {.rows_per_block = 8, .logit_rows_per_block = 2});
  const auto outer_ids = random_ids(20, rig.vocab(), 1);
  const auto inner_ids = random_ids(13, rig.vocab(), 2);
  const auto outer_expected = rig.full(outer_ids);
  const auto inner_expected = rig.full(inner_ids);
  std::vector<std::int64_t> wanted(outer_ids.size());
  std::iota(wanted.begin(), wanted.end(), 0);
  std::vector<double> outer, inner;
  KvCache kv = rig.cache(20);
  rig.decoder().forward(outer_ids, 0, kv, wanted, [&](auto, const ConstTensorView& logits) {
    inner = rig.full(inner_ids);
    outer.insert(outer.end(), logits.as<float>(), logits.as<float>() + logits.shape.elements());
  });
  EXPECT_EQ(outer, outer_expected);
  EXPECT_EQ(inner, inner_expected);
}

void expect_refused(const std::function<void()>& action, const std::string& part) {
  try {
    action();
    FAIL() << "accepted; expected a refusal that says: " << part;
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}

// vllm-project/vllm#22471, pegainfer-project/pegainfer#676: padding ids without text are legal
// input, and the first one past the table is not.
TEST(Decoder, IdsAreCheckedAgainstTheTable) {
  Rig rig;
  KvCache kv = rig.cache(4);
  const auto last = static_cast<std::int32_t>(rig.vocab()) - 1;
  EXPECT_FALSE(rig.call(std::vector<std::int32_t>{last}, kv).empty());
  for (const std::int32_t id : {last + 1, -1, std::numeric_limits<std::int32_t>::min()}) {
    expect_refused(
        [&] {
          rig.call(std::vector<std::int32_t>{0, id}, kv);
        },
        "at index 1 is outside");
  }
  EXPECT_EQ(kv.length(), 1);
}

// ggml-org/llama.cpp#5953: an empty prompt.
TEST(Decoder, EmptyCallIsRefused) {
  Rig rig;
  KvCache kv = rig.cache(4);
  expect_refused([&] { rig.call({}, kv); }, "no token ids");
}

// huggingface/candle#3381, EricLBuehler/candle-vllm#12: a second prompt coloured by the first.
TEST(Decoder, ASecondPromptNeedsAReset) {
  Rig rig;
  const auto first = random_ids(6, rig.vocab(), 1);
  const auto second = random_ids(6, rig.vocab(), 2);
  const auto fresh = rig.full(second);
  KvCache kv = rig.cache(12);
  rig.call(first, kv);
  const LogitSink ignore = [](auto, const auto&) {};
  expect_refused([&] { rig.decoder().forward(second, 0, kv, {}, ignore); }, "reset or crop");
  expect_refused([&] { rig.decoder().forward(second, 7, kv, {}, ignore); }, "starts at position 7");
  kv.reset();
  const auto after_reset = rig.call(second, kv);
  EXPECT_EQ(std::memcmp(fresh.data(), after_reset.data(), fresh.size() * sizeof(double)), 0);
}

// sgl-project/sglang#29271, huggingface/candle#3035, karpathy/llama2.c#348: writes past the
// capacity, prefill checked and decode not.
TEST(Decoder, CapacityHoldsInPrefillAndDecode) {
  Rig rig;
  const auto ids = random_ids(17, rig.vocab());
  const std::span<const std::int32_t> all(ids);
  KvCache kv = rig.cache(16);
  expect_refused([&] { rig.call(all, kv); }, "do not fit");
  rig.call(all.first(10), kv);
  for (std::size_t i = 10; i < 16; ++i) rig.call(all.subspan(i, 1), kv);
  EXPECT_EQ(kv.length(), 16);
  expect_refused([&] { rig.call(all.subspan(16, 1), kv); }, "the cache holds 16 of 16");
  EXPECT_EQ(kv.length(), 16);
}

TEST(Decoder, PositionLimitIsTheConfigs) {
  Rig rig({.max_position_embeddings = 8});
  expect_refused([&] { rig.cache(9); }, "max_position_embeddings");
  expect_refused([&] { rig.decoder().check_ids(random_ids(9, rig.vocab())); },
                 "max_position_embeddings = 8");
  const auto ids = random_ids(8, rig.vocab());
  KvCache kv = rig.cache(8);
  EXPECT_FALSE(rig.call(ids, kv).empty());
}

// lablup/mlxcel#1002: a call that failed half-way left its length behind.
TEST(Decoder, AFailedCallLeavesTheCacheAsItWas) {
  Rig rig;
  const auto ids = random_ids(12, rig.vocab());
  const std::span<const std::int32_t> all(ids);
  KvCache kv = rig.cache(16);
  rig.call(all.first(6), kv);
  const std::vector<std::int64_t> wanted = {6, 11};
  EXPECT_THROW(rig.decoder().forward(all.subspan(6), 6, kv, wanted,
                                     [](auto, const auto&) { throw std::runtime_error("sink"); }),
               std::runtime_error);
  EXPECT_EQ(kv.length(), 6);
  KvCache fresh = rig.cache(16);
  rig.call(all.first(6), fresh);
  const auto expected = rig.call(all.subspan(6, 3), fresh);
  const auto after = rig.call(all.subspan(6, 3), kv);
  EXPECT_EQ(std::memcmp(expected.data(), after.data(), expected.size() * sizeof(double)), 0);
}

// lablup/mlxcel#994, ml-explore/mlx-lm#1427: a rollback that trims too much or too little.
TEST(KvCache, CropGoesBackExactly) {
  Rig rig;
  const auto ids = random_ids(16, rig.vocab());
  const std::span<const std::int32_t> all(ids);
  KvCache kv = rig.cache(16);
  rig.call(all.first(10), kv);
  rig.call(all.subspan(10, 5), kv);
  kv.crop(15);
  EXPECT_EQ(kv.length(), 15);
  kv.crop(12);
  const auto cropped = rig.call(all.subspan(12, 2), kv);
  KvCache fresh = rig.cache(16);
  rig.call(all.first(10), fresh);
  rig.call(all.subspan(10, 2), fresh);
  const auto expected = rig.call(all.subspan(12, 2), fresh);
  EXPECT_LE(max_difference(cropped, expected), kFloat32Bound);
  EXPECT_THROW(kv.crop(15), std::invalid_argument);
  EXPECT_THROW(kv.crop(-1), std::invalid_argument);
}

// LMCache/LMCache#688, NVIDIA/Model-Optimizer#2482: bytes from the wrong head size.
TEST(KvCache, BytesAreThoseOfWhatIsStored) {
  Rig rig;
  KvCache kv = rig.cache(16);
  EXPECT_EQ(kv.used_bytes(), 0);
  rig.call(random_ids(5, rig.vocab()), kv);
  // 2 layers x (keys, values) x 2 KV heads x head_dim 16 x 4 bytes
  EXPECT_EQ(kv.used_bytes(), 5 * 2 * 2 * 2 * 16 * 4);
}

// The weights come from a function: no file is needed, and one that is changed on the way changes
// what is computed, as a fault in a checkpoint would.
TEST(Decoder, TakesItsWeightsFromAFunction) {
  TemporaryFolder folder;
  make_tiny_checkpoint({}).write(folder.path());
  const Checkpoint checkpoint = Checkpoint::open(folder.path());
  const auto backend = cpu::make_backend({.threads = 2, .instruction_set = ""});
  const auto ids = random_ids(12, checkpoint.config().vocab_size);
  std::vector<std::int64_t> wanted(ids.size());
  std::iota(wanted.begin(), wanted.end(), 0);
  const auto logits = [&](Decoder&& decoder) {
    KvCache kv(checkpoint.config(), *backend, std::ssize(ids));
    std::vector<float> rows;
    decoder.forward(ids, 0, kv, wanted, [&](auto, const ConstTensorView& view) {
      rows.insert(rows.end(), view.as<float>(), view.as<float>() + view.shape.elements());
    });
    return rows;
  };
  const auto given = [&](const std::string& name) { return checkpoint.tensor(name); };
  const auto swapped = [&](const std::string& name) {
    std::string other = name;
    if (const auto at = name.find("k_proj"); at != std::string::npos) other[at] = 'v';
    if (const auto at = name.find("v_proj"); at != std::string::npos) other[at] = 'k';
    return checkpoint.tensor(other);
  };
  const auto expected = logits(Decoder(checkpoint, *backend));
  EXPECT_EQ(logits(Decoder(checkpoint.config(), given, *backend, {})), expected);
  EXPECT_NE(logits(Decoder(checkpoint.config(), swapped, *backend, {})), expected);
  const auto misshapen = [&](const std::string& name) {
    return checkpoint.tensor(name == "model.norm.weight" ? "model.layers.0.self_attn.q_norm.weight"
                                                         : name);
  };
  expect_refused([&] { Decoder(checkpoint.config(), misshapen, *backend, {}); },
                 "[decoder] model.norm.weight is [16], expected [32]");
}

// Zeroes the input of one module.
class Eraser final : public Observer {
 public:
  explicit Eraser(std::string module) : module_(std::move(module)) {}
  void input(const ModuleCall& call, const TensorView& x) override {
    if (call.module == module_) std::memset(x.data, 0, x.bytes());
  }
  void output(const ModuleCall& call, const ConstTensorView& y) override {
    if (call.module != module_) return;
    for (std::int64_t i = 0; i < y.shape.elements(); ++i)
      largest = std::max(largest, std::abs(y.as<float>()[i]));
    positions.insert(positions.end(), call.positions.begin(), call.positions.end());
  }
  float largest = 0;
  std::vector<std::int64_t> positions;

 private:
  std::string module_;
};

// What an observer writes over a module's input is what the module is computed from; the rows it is
// told of are those of the call, block by block.
TEST(Decoder, AnObserverMayOverwriteAnInput) {
  for (const char* module : {"model.layers.0.input_layernorm", "model.layers.1.self_attn.o_proj",
                             "model.layers.0.mlp.down_proj", "model.norm", "lm_head"}) {
    Eraser eraser(module);
    Rig rig({}, Arithmetic::kFloat32, {.rows_per_block = 4, .observer = &eraser});
    Rig plain;
    const auto ids = random_ids(10, rig.vocab());
    EXPECT_GT(max_difference(rig.full(ids), plain.full(ids)), 0.01) << module;
    EXPECT_EQ(eraser.largest, 0.0F) << module;
    std::vector<std::int64_t> all(10);
    std::iota(all.begin(), all.end(), 0);
    EXPECT_EQ(eraser.positions, all) << module;
  }
}

// Looking on changes nothing, and neither does a fault that says what the config says.
TEST(Decoder, ObserverAndEmptyFaultLeaveTheBits) {
  Observer observer;
  const Fault fault;
  Rig plain;
  Rig watched({}, Arithmetic::kFloat32, {.observer = &observer, .fault = &fault});
  const auto ids = random_ids(30, plain.vocab());
  EXPECT_EQ(watched.split(ids, {20, 1, 9}), plain.split(ids, {20, 1, 9}));
}

// A fault that never reached its op would look like one that the criteria cannot see.
TEST(Decoder, EveryFaultReachesTheLogits) {
  const std::pair<const char*, Fault> faults[] = {
      {"rms_norm_eps", {.rms_norm_eps = 1.0}},
      {"norm_weight_offset", {.norm_weight_offset = 1.0}},
      {"rope_theta", {.rope_theta = 100.0}},
      {"rope_inverse_frequency_dtype", {.rope_inverse_frequency_dtype = DType::kBFloat16}},
      {"rope_phase_dtype", {.rope_phase_dtype = DType::kBFloat16}},
      {"rope_direction", {.rope_direction = -1.0}},
      {"rope_pairing", {.rope_pairing = ops::RopePairing::kInterleaved}},
      {"rope_cached_position_offset", {.rope_cached_position_offset = 1}},
      {"attention_scale", {.attention_scale = 0.5}},
      {"kv_mapping", {.kv_mapping = ops::KvMapping::kTile}},
      {"mask_offset", {.mask_offset = -1}},
      {"causal", {.causal = false}},
  };
  for (const Arithmetic arithmetic : {Arithmetic::kFloat32, Arithmetic::kDefinition}) {
    Rig plain({}, arithmetic);
    const auto ids = random_ids(30, plain.vocab());
    const auto expected = plain.split(ids, {20, 10});
    for (const auto& [name, fault] : faults) {
      Rig rig({}, arithmetic, {.fault = &fault});
      EXPECT_GT(max_difference(rig.split(ids, {20, 10}), expected), kFloat32Bound) << name;
    }
  }
}

// A float32 cache behind float64 arithmetic: rounding shows, and no more than rounding.
TEST(KvCache, HasADtypeOfItsOwn) {
  Rig rig({}, Arithmetic::kDefinition);
  const auto ids = random_ids(20, rig.vocab());
  KvCache narrow(rig.decoder().config(), rig.decoder().backend(), 20, DType::kFloat32);
  EXPECT_EQ(narrow.dtype(), DType::kFloat32);
  const double error = max_difference(rig.call(ids, narrow), rig.full(ids));
  EXPECT_GT(error, 1e-10);
  EXPECT_LE(error, kFloat32Bound);
  EXPECT_EQ(narrow.used_bytes(), 20 * 2 * 2 * 2 * 16 * 4);
  expect_refused(
      [&] { KvCache(rig.decoder().config(), rig.decoder().backend(), 20, DType::kFloat16); },
      "[kv_cache] backend definition does not keep a cache in float16");
}

// Working space does not grow with the prompt, nor with vocab x seq.
TEST(Decoder, WorkingSpaceIsBoundedByTheBlock) {
  const TinyOptions tiny{.max_position_embeddings = 4096};
  auto peak = [&](std::size_t tokens) {
    Rig rig(tiny, Arithmetic::kFloat32, {.rows_per_block = 16, .logit_rows_per_block = 4});
    KvCache kv = rig.cache(2048);
    rig.call(random_ids(tokens, rig.vocab()), kv);
    return rig.decoder().backend().peak_bytes();
  };
  EXPECT_EQ(peak(32), peak(2048));
}

}  // namespace
}  // namespace octlm::model
