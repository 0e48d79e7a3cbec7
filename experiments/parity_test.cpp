// Our decoder against Transformers, live, on tiny checkpoints of every shape of config that we run:
// what the registered experiments claim of two large checkpoints, here of many small ones, each
// chosen so that one thing can be wrong in it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <random>

#include "experiments/engines/local_environment.h"
#include "experiments/engines/octlm_engine.h"
#include "experiments/kinds/logit_comparison.h"
#include "model/testing/tiny_checkpoint.h"
#include "reference/transformers/python.h"
#include "reference/transformers/transformers.h"

namespace octlm::experiments {
namespace {

using model::testing::make_tiny_checkpoint;
using model::testing::TemporaryFolder;
using model::testing::TinyCheckpoint;
using model::testing::TinyOptions;

struct Variant {
  std::string name;
  TinyOptions options;
  std::function<void(TinyCheckpoint&)> edit = [](TinyCheckpoint&) {};
  std::size_t tokens = 40;
};

// Sets members of config.json; null removes one.
std::function<void(TinyCheckpoint&)> config(const nlohmann::json& members) {
  return [members](TinyCheckpoint& checkpoint) {
    auto document = nlohmann::json::parse(checkpoint.config_json);
    for (const auto& [key, value] : members.items()) {
      if (value == "REMOVE") {
        document.erase(key);
      } else {
        document[key] = value;
      }
    }
    checkpoint.config_json = document.dump();
  };
}

const nlohmann::json kLlama3Scaling = {{"rope_type", "llama3"},
                                       {"factor", 8.0},
                                       {"low_freq_factor", 1.0},
                                       {"high_freq_factor", 4.0},
                                       {"original_max_position_embeddings", 64}};

std::vector<Variant> variants() {
  const TinyOptions qwen3;
  const TinyOptions llama{.model_type = "llama"};
  return {
      {"qwen3", qwen3},
      {"llama", llama},
      {"qwen3_float16_storage", {.dtype = model::DType::kFloat16}},
      {"llama_float32_storage", {.model_type = "llama", .dtype = model::DType::kFloat32}},
      // huggingface/candle#2930: the head that is not tied, and the stored duplicate of one that
      // is.
      {"qwen3_untied", {.tie_word_embeddings = false}},
      {"qwen3_stored_lm_head", {.stored_lm_head = true}},
      // onnx/onnx#7274: query heads and KV heads in every ratio.
      {"one_kv_head", {.num_attention_heads = 6, .num_key_value_heads = 1}},
      {"as_many_kv_heads", {.num_attention_heads = 4, .num_key_value_heads = 4}},
      // NVIDIA/TensorRT-LLM#5912: head_dim is not hidden_size / heads.
      {"wide_heads", {.hidden_size = 24, .num_attention_heads = 4, .head_dim = 32}},
      {"llama_derived_head_dim",
       {.model_type = "llama", .hidden_size = 64, .num_attention_heads = 4, .head_dim = 16},
       config({{"head_dim", "REMOVE"}})},
      // NVIDIA/cutlass#1112: eps from the config, in the q and k norms too.
      {"qwen3_large_eps", qwen3, config({{"rms_norm_eps", 0.05}})},
      {"llama_large_eps", llama, config({{"rms_norm_eps", 0.05}})},
      // deepspeedai/DeepSpeed#8345: another base.
      {"small_theta", qwen3, config({{"rope_theta", 500.0}})},
      // ggml-org/llama.cpp#2793: null, absent, {} and default are the same model.
      {"rope_scaling_absent", qwen3, config({{"rope_scaling", "REMOVE"}})},
      {"rope_scaling_default", qwen3, config({{"rope_scaling", {{"rope_type", "default"}}}})},
      // ggml-org/llama.cpp#8676: llama3 scaling, past the original length.
      {"llama3_scaling",
       {.model_type = "llama", .max_position_embeddings = 512},
       config({{"rope_scaling", kLlama3Scaling}}),
       200},
      // InternLM/lmdeploy#3614: a window that is not in use.
      {"unused_window", qwen3, config({{"sliding_window", 4}, {"use_sliding_window", false}})},
      // Short prompts hide position bugs (AI-Hypercomputer/maxtext).
      {"long_prompt", {.max_position_embeddings = 2048}, [](TinyCheckpoint&) {}, 1100},
  };
}

class Parity : public ::testing::TestWithParam<Variant> {};
INSTANTIATE_TEST_SUITE_P(Tiny, Parity, ::testing::ValuesIn(variants()),
                         [](const auto& parameter) { return parameter.param.name; });

// Float32 rounding on these sizes stays near 1e-5 on logits that span 2 to 30; a fault moves them
// by tenths.
constexpr double kBound = 2e-4;

TEST_P(Parity, EveryPathEqualsTransformers) {
  const Variant& variant = GetParam();
  TinyCheckpoint tiny = make_tiny_checkpoint(variant.options);
  variant.edit(tiny);
  TemporaryFolder folder;
  tiny.write(folder.path());

  const auto subject =
      make_octlm_engine({.folder = folder.path(), .threads = 2, .instruction_set = ""});
  const auto reference = reference::make_transformers(
      {.python = environment_python(), .folder = folder.path(), .threads = 2});
  ASSERT_EQ(subject->vocab_size(), reference->vocab_size());

  std::mt19937 generator(11);
  std::uniform_int_distribution<std::int32_t> id(
      0, static_cast<std::int32_t>(subject->vocab_size()) - 1);
  std::vector<std::int32_t> ids(variant.tokens);
  for (auto& value : ids) value = id(generator);

  for (const char* path : {"full", "cached:half", "cached:every", "chunked:7"}) {
    const auto measurement = compare_logits({*subject, {ids, reference::Split::parse(path), {}}},
                                            {*reference, {ids, reference::Split::full(), {}}});
    const double error = std::get<double>(measurement.metrics.at("max_abs_error@1"));
    EXPECT_LE(error, kBound) << path << " " << measurement.record["worst"].dump();
    EXPECT_EQ(measurement.record["positions"], ids.size());
    RecordProperty(std::string("max_abs_error ") + path, std::to_string(error));
    if (std::string(path) == "full") {
      std::printf("  %s: max abs error %.2e, worst %s\n", variant.name.c_str(), error,
                  measurement.record["worst"].dump().substr(0, 120).c_str());
    }
  }
}

// The rows of a Hugging Face checkpoint's k_proj stand as its rotation wants them: none are moved
// (huggingface/transformers#31788, ggml-org/llama.cpp#2376, vllm-project/vllm-metal#480). Were they
// moved within each head, on either side, this is how the comparison would show it: two KV heads,
// head_dim 4.
TEST(Parity, KeyRowsInAnotherOrderAreSeen) {
  const TinyOptions options{
      .hidden_size = 16, .num_attention_heads = 4, .num_key_value_heads = 2, .head_dim = 4};
  TinyCheckpoint tiny = make_tiny_checkpoint(options);
  TemporaryFolder stored, permuted;
  tiny.write(stored.path());
  for (auto& [name, tensor] : tiny.tensors) {
    if (!name.ends_with("k_proj.weight")) continue;
    const auto rows = tensor.bytes;
    const std::size_t row = rows.size() / 8;
    const std::size_t order[] = {0, 2, 1, 3, 4, 6, 5, 7};
    for (std::size_t i = 0; i < 8; ++i)
      std::copy_n(&rows[order[i] * row], row, &tensor.bytes[i * row]);
  }
  tiny.write(permuted.path());
  const auto reference = reference::make_transformers(
      {.python = environment_python(), .folder = stored.path(), .threads = 2});
  const auto error = [&](const TemporaryFolder& folder) {
    const auto subject =
        make_octlm_engine({.folder = folder.path(), .threads = 2, .instruction_set = ""});
    const std::vector<std::int32_t> ids = {1, 2, 3, 4, 5, 6, 7, 8};
    const auto measurement = compare_logits({*subject, {ids, reference::Split::full(), {}}},
                                            {*reference, {ids, reference::Split::full(), {}}});
    return std::get<double>(measurement.metrics.at("max_abs_error@1"));
  };
  EXPECT_LE(error(stored), kBound);
  EXPECT_GE(error(permuted), 100 * kBound);
}

// A drift that begins at some length hides from short prompts (wangzhaode/llm-export#79,
// huggingface/optimum#1399, ggml-org/llama.cpp#12957): around the sizes of blocks, and far out.
TEST(Parity, HoldsAtEveryLength) {
  TemporaryFolder folder;
  make_tiny_checkpoint({.max_position_embeddings = 4096}).write(folder.path());
  const auto subject =
      make_octlm_engine({.folder = folder.path(), .threads = 2, .instruction_set = ""});
  const auto reference = reference::make_transformers(
      {.python = environment_python(), .folder = folder.path(), .threads = 2});
  for (const std::size_t length : {1, 7, 63, 64, 65, 512, 3000}) {
    std::vector<std::int32_t> ids(length);
    for (std::size_t i = 0; i < length; ++i)
      ids[i] = static_cast<std::int32_t>((i * i * 7 + i * 13 + 3) % 61);
    for (const char* path : {"full", "chunked:64"}) {
      const auto measurement = compare_logits({*subject, {ids, reference::Split::parse(path), {}}},
                                              {*reference, {ids, reference::Split::full(), {}}});
      EXPECT_LE(std::get<double>(measurement.metrics.at("max_abs_error@1")), kBound)
          << length << ' ' << path;
      EXPECT_EQ(measurement.record["positions"], length);
    }
  }
}

// The definition is the arbiter, and must itself agree with Transformers within float32 rounding
// (docs/numerics.md).
TEST(Definition, AgreesWithTransformersFloat32) {
  for (const char* model_type : {"qwen3", "llama"}) {
    TemporaryFolder folder;
    make_tiny_checkpoint({.model_type = model_type}).write(folder.path());
    const auto definition = make_octlm_engine(
        {.folder = folder.path(), .dtype = "float64", .threads = 2, .instruction_set = ""});
    const auto reference = reference::make_transformers(
        {.python = environment_python(), .folder = folder.path(), .threads = 2});
    std::vector<std::int32_t> ids(50);
    for (std::size_t i = 0; i < ids.size(); ++i)
      ids[i] = static_cast<std::int32_t>((i * 37 + 5) % 64);
    const auto measurement = compare_logits({*definition, {ids, reference::Split::full(), {}}},
                                            {*reference, {ids, reference::Split::full(), {}}});
    EXPECT_LE(std::get<double>(measurement.metrics.at("max_abs_error@1")), kBound) << model_type;
  }
}

// Requests that must be refused alike by both sides, before anything is computed.
TEST(BothEngines, RefuseTheSameRequests) {
  TemporaryFolder folder;
  make_tiny_checkpoint({}).write(folder.path());
  const auto subject =
      make_octlm_engine({.folder = folder.path(), .threads = 2, .instruction_set = ""});
  const auto reference = reference::make_transformers(
      {.python = environment_python(), .folder = folder.path(), .threads = 2});
  const std::vector<reference::LogitRequest> bad = {
      {{}, reference::Split::full(), {}},
      {{1, 64}, reference::Split::full(), {}},
      {{1, -1}, reference::Split::full(), {}},
      {std::vector<std::int32_t>(129, 1), reference::Split::full(), {}},
      {{1}, reference::Split::parse("cached:half"), {}},
  };
  for (std::size_t i = 0; i < bad.size(); ++i) {
    EXPECT_THROW(subject->start(bad[i]), std::invalid_argument) << i;
    EXPECT_THROW(reference->start(bad[i]), std::invalid_argument) << i;
  }
  EXPECT_NO_THROW(subject->start({{63}, reference::Split::full(), {}}));
  EXPECT_NO_THROW(reference->start({{63}, reference::Split::full(), {}}));
}

struct Rows final : reference::LogitSink {
  std::vector<std::int64_t> positions;
  std::vector<float> logits;
  void receive(const reference::LogitBlock& block) override {
    positions.insert(positions.end(), block.positions.begin(), block.positions.end());
    logits.insert(logits.end(), block.logits,
                  block.logits + std::ssize(block.positions) * block.vocab);
  }
};

// A session is the same thing on both sides: what is appended after a crop is as if nothing else
// had been there, and the wanted rows alone are delivered.
TEST(BothEngines, SessionsAreAppendedToAndCropped) {
  using Calls = std::vector<reference::ForwardCall>;
  TemporaryFolder folder;
  make_tiny_checkpoint({}).write(folder.path());
  const std::vector<std::unique_ptr<reference::Engine>> engines = [&] {
    std::vector<std::unique_ptr<reference::Engine>> two;
    two.push_back(
        make_octlm_engine({.folder = folder.path(), .threads = 2, .instruction_set = ""}));
    two.push_back(reference::make_transformers(
        {.python = environment_python(), .folder = folder.path(), .threads = 2}));
    return two;
  }();
  const std::vector<std::int32_t> prompt = {5, 42, 17, 63, 8}, one = {9}, two = {30, 31};
  const std::vector<std::int64_t> last = {4}, fifth = {5}, third = {3}, none = {};
  std::vector<Rows> rows_of;
  for (const auto& engine : engines) {
    EXPECT_TRUE(engine->capabilities().append);
    const auto session = engine->open_session({.capacity = 8});
    Rows rows, again, straight;
    session->append(prompt, last, rows);
    EXPECT_EQ(rows.positions, last);
    EXPECT_EQ(rows.logits.size(), static_cast<std::size_t>(engine->vocab_size()));
    session->append(two, none, rows);
    EXPECT_EQ(rows.positions, last) << "nothing was wanted";
    EXPECT_EQ(session->length(), 7);
    session->crop(5);
    session->append(one, fifth, rows);
    EXPECT_EQ(session->length(), 6);
    EXPECT_EQ(session->calls(), (Calls{{0, 5}, {5, 2}, {5, 1}}));

    const auto other = engine->open_session({});
    other->append(prompt, none, straight);
    other->append(one, fifth, straight);
    const auto vocab = engine->vocab_size();
    EXPECT_TRUE(
        std::equal(straight.logits.begin(), straight.logits.end(), rows.logits.begin() + vocab))
        << "the bits of a session without the crop";
    session->crop(0);
    session->append(prompt, last, again);
    EXPECT_TRUE(std::equal(again.logits.begin(), again.logits.end(), rows.logits.begin()));
    session->crop(3);
    session->append(one, third, again);
    rows_of.push_back(again);
  }
  for (std::size_t i = 0; i < rows_of[0].logits.size(); ++i) {
    ASSERT_NEAR(rows_of[0].logits[i], rows_of[1].logits[i], kBound);
  }
}

// What is refused, and what fails on the way, leaves the session as it was.
TEST(BothEngines, ARefusedAppendChangesNothing) {
  TemporaryFolder folder;
  make_tiny_checkpoint({}).write(folder.path());
  struct Throwing final : reference::LogitSink {
    void receive(const reference::LogitBlock&) override { throw std::domain_error("enough"); }
  } throwing;
  for (const bool ours : {true, false}) {
    const auto engine =
        ours ? make_octlm_engine({.folder = folder.path(), .threads = 2, .instruction_set = ""})
             : reference::make_transformers(
                   {.python = environment_python(), .folder = folder.path(), .threads = 2});
    const auto session = engine->open_session({.capacity = 6});
    Rows rows, expected;
    const std::vector<std::int32_t> prompt = {5, 42, 17}, one = {9}, wrong = {9, 64};
    const std::vector<std::int32_t> four = {1, 2, 3, 4};
    const std::vector<std::int64_t> third = {3}, behind = {2}, late = {4};
    session->append(prompt, {}, rows);
    const auto calls = session->calls();
    EXPECT_THROW(session->begin({}, {}), std::invalid_argument);
    EXPECT_THROW(session->begin(wrong, {}), std::invalid_argument);
    EXPECT_THROW(session->begin(four, {}), std::invalid_argument) << "beyond the capacity";
    EXPECT_THROW(session->begin(one, behind), std::invalid_argument);
    EXPECT_THROW(session->begin(one, late), std::invalid_argument);
    EXPECT_THROW(session->crop(4), std::invalid_argument);
    EXPECT_THROW(session->crop(-1), std::invalid_argument);
    EXPECT_THROW(session->append(one, third, throwing), std::domain_error);
    EXPECT_EQ(session->length(), 3);
    EXPECT_EQ(session->calls(), calls);
    session->begin(one, third);
    EXPECT_THROW(session->begin(one, third), std::invalid_argument) << "rows are still to be taken";
    EXPECT_THROW(session->crop(0), std::invalid_argument);
    while (session->deliver(rows)) {
    }
    EXPECT_EQ(session->length(), 4);
    const auto clean = engine->open_session({.capacity = 6});
    clean->append(prompt, {}, expected);
    clean->append(one, third, expected);
    EXPECT_EQ(rows.logits, expected.logits);
    EXPECT_THROW(engine->open_session({.capacity = 129}), std::invalid_argument);
    EXPECT_THROW(engine->open_session({.capacity = -1}), std::invalid_argument);
  }
}

}  // namespace
}  // namespace octlm::experiments

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  octlm::reference::flush_and_exit(RUN_ALL_TESTS());
}
