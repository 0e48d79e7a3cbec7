// The engine against properties that any right one has. What the numbers mean is checked on the
// Python side (transformers_reference_test.py), against Transformers' own model(...).logits.
#include "reference/transformers/transformers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <numeric>

#include "formats/testing/temporary_folder.h"
#include "reference/testing/python_checkpoint.h"
#include "reference/testing/sinks.h"
#include "reference/transformers/mapped_libraries.h"
#include "reference/transformers/python.h"
#include "reference/transformers/python_call.h"

namespace octlm::reference {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::keep;
using testing::KeepingSink;
using Calls = std::vector<ForwardCall>;

constexpr std::int64_t kVocab = 307;

class TransformersTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new formats::testing::TemporaryFolder();
    testing::write_checkpoint(folder_->path() / "qwen3", "qwen3");
    testing::write_checkpoint(folder_->path() / "llama", "llama");
    qwen3_ = make_transformers(options("qwen3")).release();
  }
  static void TearDownTestSuite() {
    delete qwen3_;
    delete folder_;
  }
  static TransformersOptions options(const std::string& name) {
    TransformersOptions options;
    options.python = testing::project_python();
    options.folder = folder_->path() / name;
    return options;
  }
  static LogitRequest request(std::int64_t n, const char* path = "full") {
    LogitRequest request;
    for (std::int64_t i = 0; i < n; ++i) {
      request.token_ids.push_back(static_cast<std::int32_t>((i * 131 + 7) % kVocab));
    }
    request.path = Split::parse(path);
    return request;
  }
  static std::string refusal(const TransformersOptions& options) {
    try {
      make_transformers(options);
    } catch (const std::exception& error) {
      return error.what();
    }
    return "";
  }

  static formats::testing::TemporaryFolder* folder_;
  static Engine* qwen3_;
};
formats::testing::TemporaryFolder* TransformersTest::folder_ = nullptr;
Engine* TransformersTest::qwen3_ = nullptr;

double largest_difference(const KeepingSink& a, const KeepingSink& b) {
  EXPECT_EQ(a.positions, b.positions);
  EXPECT_EQ(a.logits.size(), b.logits.size());
  double largest = 0;
  for (std::size_t i = 0; i < a.logits.size() && i < b.logits.size(); ++i) {
    const double difference = std::abs(double{a.logits[i]} - double{b.logits[i]});
    if (!(difference <= largest)) largest = difference;
  }
  return largest;
}

TEST_F(TransformersTest, DeliversEveryPositionOfOneForwardCall) {
  Calls calls;
  const KeepingSink sink = keep(*qwen3_, request(20), &calls);
  std::vector<std::int64_t> all(20);
  std::iota(all.begin(), all.end(), 0);
  EXPECT_EQ(sink.positions, all);
  EXPECT_EQ(sink.logits.size(), 20U * kVocab);
  EXPECT_EQ(calls, (Calls{{0, 20}}));
  for (const float logit : sink.logits) ASSERT_TRUE(std::isfinite(logit));
}

// Float32 rounding over three small layers whose logits reach some tens: two different summation
// orders differ by 1e-5 here; a wrong cache moves logits by more than 1.
TEST_F(TransformersTest, EveryPathComputesTheSameFunctionAndReportsItsCalls) {
  const KeepingSink full = keep(*qwen3_, request(11));
  const std::pair<const char*, Calls> paths[] = {
      {"cached:half", {{0, 5}, {5, 6}}},
      {"cached:every",
       {{0, 1}, {1, 1}, {2, 1}, {3, 1}, {4, 1}, {5, 1}, {6, 1}, {7, 1}, {8, 1}, {9, 1}, {10, 1}}},
      {"chunked:4", {{0, 4}, {4, 4}, {8, 3}}},
  };
  for (const auto& [path, expected] : paths) {
    Calls calls;
    const KeepingSink cached = keep(*qwen3_, request(11, path), &calls);
    EXPECT_LT(largest_difference(full, cached), 2e-4) << path;
    EXPECT_EQ(calls, expected) << path;
  }
}

TEST_F(TransformersTest, DeliversOnlyTheWantedPositions) {
  const KeepingSink full = keep(*qwen3_, request(30));
  for (const char* path : {"full", "chunked:7"}) {
    LogitRequest some = request(30, path);
    some.positions = {0, 3, 4, 17, 29};
    const KeepingSink sink = keep(*qwen3_, some);
    ASSERT_THAT(sink.positions, ElementsAre(0, 3, 4, 17, 29)) << path;
    for (std::size_t row = 0; row < some.positions.size(); ++row) {
      for (std::size_t id = 0; id < kVocab; ++id) {
        ASSERT_NEAR(sink.logits[row * kVocab + id],
                    full.logits[static_cast<std::size_t>(some.positions[row]) * kVocab + id], 2e-4);
      }
    }
  }
}

TEST_F(TransformersTest, LongSequencesGoThroughTheCacheInChunks) {
  LogitRequest longer = request(2050);
  longer.positions = {0, 2047, 2048, 2049};
  Calls calls;
  const KeepingSink full = keep(*qwen3_, longer, &calls);
  EXPECT_EQ(calls, (Calls{{0, 2048}, {2048, 2}}));
  longer.path = Split::parse("cached:half");
  EXPECT_LT(largest_difference(full, keep(*qwen3_, longer)), 2e-4);
}

// A long append is made of several calls where that is allowed, and of one where the split is what
// is asked for.
TEST_F(TransformersTest, ALongAppendIsSplitWhereItMayBe) {
  const auto ids = request(2053).token_ids;
  const std::vector<std::int64_t> wanted = {3, 2052};
  for (const bool may_split : {true, false}) {
    const auto session = qwen3_->open_session({.may_split = may_split});
    KeepingSink sink;
    session->append(std::span(ids).first(3), {}, sink);
    session->append(std::span(ids).subspan(3), wanted, sink);
    EXPECT_THAT(sink.positions, ElementsAre(3, 2052));
    EXPECT_EQ(session->calls(),
              may_split ? (Calls{{0, 3}, {3, 2048}, {2051, 2}}) : (Calls{{0, 3}, {3, 2050}}));
  }
}

TEST_F(TransformersTest, ASessionForOneAppendTakesOne) {
  const auto session = qwen3_->open_session({.goes_on = false});
  KeepingSink sink;
  const auto ids = request(4).token_ids;
  session->append(ids, {}, sink);
  EXPECT_THROW(session->append(ids, {}, sink), std::invalid_argument);
  EXPECT_THROW(session->crop(2), std::invalid_argument);
  EXPECT_EQ(session->length(), 4);
}

TEST_F(TransformersTest, SessionsDoNotDisturbEachOther) {
  const KeepingSink alone = keep(*qwen3_, request(9, "cached:every"));
  KeepingSink first, second;
  const auto a = qwen3_->start(request(9, "cached:every"));
  LogitRequest other = request(9, "cached:every");
  other.token_ids.front() = 5;
  const auto b = qwen3_->start(other);
  bool a_more = true, b_more = true;
  while (a_more || b_more) {
    a_more = a_more && a->advance(first);
    b_more = b_more && b->advance(second);
  }
  EXPECT_EQ(first.logits, alone.logits);
  EXPECT_NE(second.logits, alone.logits);
}

// pybind/pybind11#1380: a second interpreter crashes, so a second engine must not need one.
TEST_F(TransformersTest, TwoEnginesAndASecondStartWork) {
  start_python(testing::project_python());
  const auto llama = make_transformers(options("llama"));
  const auto again = make_transformers(options("qwen3"));
  EXPECT_EQ(keep(*again, request(8)).logits, keep(*qwen3_, request(8)).logits);
  EXPECT_NE(keep(*llama, request(8)).logits, keep(*qwen3_, request(8)).logits);
  EXPECT_EQ(llama->description().settings.at("model_class"), "LlamaForCausalLM");
}

TEST_F(TransformersTest, ASessionOutlivesItsEngine) {
  auto engine = make_transformers(options("qwen3"));
  const auto session = engine->start(request(8));
  engine.reset();
  KeepingSink sink;
  EXPECT_TRUE(session->advance(sink));
  EXPECT_EQ(sink.logits, keep(*qwen3_, request(8)).logits);
}

TEST_F(TransformersTest, SettingsAreReadBack) {
  TransformersOptions one_thread = options("llama");
  one_thread.threads = 1;
  one_thread.attention = "sdpa";
  const EngineDescription llama = make_transformers(one_thread)->description();
  EXPECT_EQ(llama.engine, "transformers");
  EXPECT_EQ(llama.source, "live");
  EXPECT_EQ(llama.settings.at("attention"), "sdpa");
  EXPECT_EQ(llama.settings.at("threads"), 1);
  EXPECT_EQ(llama.settings.at("dtype"), "float32");
  EXPECT_EQ(llama.settings.at("training"), false);
  EXPECT_EQ(llama.settings.at("cuda.matmul.allow_tf32"), false);
  EXPECT_EQ(llama.settings.at("tf32_probe").at("exact"), true);
  EXPECT_EQ(llama.settings.at("tf32_probe").at("found").at("512"), 1.00048828125);
  EXPECT_EQ(llama.version, llama.settings.at("transformers"));
  EXPECT_EQ(llama.settings.at("OMP_WAIT_POLICY"), nullptr);
}

// Each engine's settings hold while it computes, although torch keeps them for the whole process.
TEST_F(TransformersTest, EachEngineComputesWithItsOwnThreads) {
  TransformersOptions one = options("qwen3"), two = options("qwen3");
  one.threads = 1;
  two.threads = 2;
  const auto a = make_transformers(one);
  const auto b = make_transformers(two);
  keep(*a, request(4));
  EXPECT_EQ(a->description().settings.at("threads"), 1);
  keep(*b, request(4));
  EXPECT_EQ(b->description().settings.at("threads"), 2);
}

TEST_F(TransformersTest, SixteenBitLogitsArriveAsFloat32) {
  TransformersOptions half = options("qwen3");
  half.dtype = "bfloat16";
  const auto engine = make_transformers(half);
  const KeepingSink sink = keep(*engine, request(6));
  EXPECT_EQ(engine->description().settings.at("dtype"), "bfloat16");
  const double off = largest_difference(sink, keep(*qwen3_, request(6)));
  EXPECT_GT(off, 1e-3);
  EXPECT_TRUE(std::isfinite(off));
}

TEST_F(TransformersTest, BadRequestsAreRefusedBeforeAnythingRuns) {
  const auto message = [](const LogitRequest& bad) -> std::string {
    try {
      qwen3_->start(bad);
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(message(request(0)), HasSubstr("token_ids is empty"));
  EXPECT_THAT(message(request(4097)), HasSubstr("4097 token ids are more than the model's 4096"));
  EXPECT_THAT(message(request(1, "cached:half")), HasSubstr("cached:half has nothing to do"));
  LogitRequest bad = request(3);
  bad.token_ids[1] = 307;
  EXPECT_THAT(message(bad), HasSubstr("token id 307 at position 1 is outside [0, 307)"));
  bad.token_ids[1] = -1;
  EXPECT_THAT(message(bad), HasSubstr("token id -1 at position 1"));
  bad.token_ids[1] = 306;  // the last one is legal, whether or not a tokenizer has text for it
  EXPECT_EQ(message(bad), "");
  for (const auto& positions : {std::vector<std::int64_t>{3}, {-1}, {1, 1}, {2, 1}}) {
    bad.positions = positions;
    EXPECT_THAT(message(bad), HasSubstr("wanted position"));
  }
}

TEST_F(TransformersTest, BadOptionsAreRefused) {
  TransformersOptions bad = options("qwen3");
  bad.dtype = "float64";
  EXPECT_THAT(refusal(bad),
              HasSubstr("dtype \"float64\" is not one of float32, float16, bfloat16"));
  bad = options("qwen3");
  bad.attention = "flash_attention_2";
  EXPECT_THAT(refusal(bad), HasSubstr("attention"));
  bad = options("no such folder");
  EXPECT_THAT(refusal(bad), HasSubstr("no such folder has no config.json"));
}

// An error of Python's own: type, message and the end of the traceback.
TEST_F(TransformersTest, PythonErrorsSayWhatWasBeingDone) {
  std::filesystem::copy(folder_->path() / "qwen3", folder_->path() / "torn");
  std::filesystem::resize_file(folder_->path() / "torn" / "model.safetensors", 100);
  const std::string message = refusal(options("torn"));
  EXPECT_THAT(message,
              HasSubstr("[loading " + (folder_->path() / "torn").string() + " with Transformers]"));
  EXPECT_THAT(message, HasSubstr("Error: "));
  EXPECT_THAT(message, HasSubstr("File \""));
}

// Kept out of std::exception's way: the sink's own exception passes through.
TEST_F(TransformersTest, ASinkMayThrow) {
  struct Throwing final : LogitSink {
    void receive(const LogitBlock&) override { throw std::domain_error("enough"); }
  } sink;
  const auto session = qwen3_->start(request(5));
  EXPECT_THROW(session->advance(sink), std::domain_error);
}

// The lock is free while C++ computes: another thread can take it from inside a sink.
TEST_F(TransformersTest, TheLockIsFreeInsideASink) {
  struct Sink final : LogitSink {
    int holds = -1;
    void receive(const LogitBlock&) override { holds = PyGILState_Check(); }
  } sink;
  EXPECT_TRUE(qwen3_->start(request(5))->advance(sink));
  EXPECT_EQ(sink.holds, 0);
}

TEST_F(TransformersTest, PeakBytesCoverTheWeightsAndGrowWithTheCache) {
  const auto engine = make_transformers(options("llama"));
  const std::int64_t loaded = engine->peak_bytes();
  EXPECT_GT(loaded, 4 * 2 * kVocab * 48);
  keep(*engine, request(1000, "chunked:500"));
  EXPECT_GE(engine->peak_bytes(), loaded + 4 * 3 * 2 * 2 * 16 * 1000);
}

TEST_F(TransformersTest, FoldersMayHaveAnyName) {
  const auto folder = folder_->path() / "h\u00e9 \u4e16 'x";
  std::filesystem::copy(folder_->path() / "qwen3", folder);
  TransformersOptions named = options("qwen3");
  named.folder = folder;
  EXPECT_EQ(refusal(named), "");
}

// One copy of everything that computes, torch's own (docs/numerics.md).
TEST_F(TransformersTest, NoNumericLibraryIsMappedTwice) {
  const auto libraries = mapped_libraries();
  EXPECT_THAT(duplicate_warnings(libraries), ::testing::IsEmpty());
  const auto from_torch = [](const MappedLibrary& one) {
    return one.name == "libtorch_cpu" ||
           (one.family == "OpenMP" && one.path.find("/torch") != std::string::npos);
  };
  EXPECT_EQ(std::count_if(libraries.begin(), libraries.end(), from_torch), 2);
}

TEST_F(TransformersTest, TheEnvironmentIsDescribed) {
  const nlohmann::json environment = python_environment(testing::project_python());
  EXPECT_TRUE(environment.at("packages").at("transformers").is_string());
  EXPECT_EQ(environment.at("torch").at("version"), qwen3_->description().settings.at("torch"));
  EXPECT_TRUE(environment.at("torch").at("gpus").is_array());
}

}  // namespace
}  // namespace octlm::reference
