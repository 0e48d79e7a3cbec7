#include "reference/recorded/recorded.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <sstream>
#include <utility>

#include "formats/testing/temporary_folder.h"
#include "reference/request.h"
#include "reference/testing/fake_session.h"
#include "reference/testing/sinks.h"

namespace octlm::reference {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::keep;
using testing::KeepingSink;

constexpr std::int64_t kVocab = 5;

// Logits that can be told from each other: position * 10 + id, plus the sequence's first id * 1000.
class FakeEngine final : public Engine {
 public:
  std::string name = "transformers";
  json settings = {{"dtype", "float32"},
                   {"attention", "eager"},
                   {"transformers", "4.57.6"},
                   {"training", false},
                   {"cuda.matmul.allow_tf32", false},
                   {"cudnn.allow_tf32", false},
                   {"float32_matmul_precision", "highest"},
                   {"allow_fp16_reduced_precision_reduction", false},
                   {"allow_bf16_reduced_precision_reduction", false},
                   {"tf32_probe", {{"exact", true}, {"device", "cpu"}}}};

  EngineDescription description() const override { return {name, "4.57.6", "live", settings}; }
  Capabilities capabilities() const override { return {{"float32"}, {"cpu"}, {"full"}}; }
  std::int64_t vocab_size() const override { return kVocab; }
  std::int64_t max_positions() const override { return 8; }
  std::unique_ptr<Session> open_session(const SessionOptions& options) override {
    return std::make_unique<testing::FakeSession>(
        testing::FakeSessionOptions{.vocab = kVocab, .capacity = session_capacity(options, 8)},
        [](const std::vector<std::int32_t>& ids, std::int64_t position) {
          std::vector<float> row;
          for (std::int64_t id = 0; id < kVocab; ++id) {
            row.push_back(static_cast<float>(ids[0] * 1000 + position * 10 + id));
          }
          return row;
        });
  }
};

class RecordedTest : public ::testing::Test {
 protected:
  void SetUp() override { record_logits(live_, key_, {{1, 2, 3}, {2, 2}}, folder()); }
  std::filesystem::path folder() const { return temporary_.path() / "recording"; }
  std::filesystem::path manifest() const { return folder() / "manifest.json"; }

  std::string message() const { return message(key_); }
  std::string message(const RecordingKey& key, const std::string& version = "") const {
    return what([&] { make_recorded(folder(), key, "octlm", version); });
  }
  template <class Body>
  static std::string what(Body&& body) {
    try {
      body();
    } catch (const std::exception& error) {
      return error.what();
    }
    return "";
  }
  // The refusal after the manifest was changed so.
  template <class Change>
  std::string changed(Change&& change) const {
    const std::string before = text_of(manifest());
    json value = json::parse(before);
    change(value);
    std::ofstream(manifest()) << value.dump();
    const std::string refusal = message();
    std::ofstream(manifest()) << before;
    return refusal;
  }
  static std::string text_of(const std::filesystem::path& file) {
    std::stringstream text;
    text << std::ifstream(file).rdbuf();
    return text.str();
  }

  formats::testing::TemporaryFolder temporary_;
  FakeEngine live_;
  RecordingKey key_{{{"model.safetensors", "sha256:f47f"}}, "float32", "eager"};
};

TEST_F(RecordedTest, ReturnsWhatWasRecordedBitForBit) {
  const auto recorded = make_recorded(folder(), key_);
  for (const std::vector<std::int32_t>& ids : {std::vector<std::int32_t>{1, 2, 3}, {2, 2}}) {
    std::vector<ForwardCall> calls;
    const auto replayed = keep(*recorded, {ids, Split::full(), {}}, &calls);
    const auto live = keep(live_, {ids, Split::full(), {}});
    EXPECT_EQ(replayed.positions, live.positions);
    EXPECT_EQ(replayed.logits, live.logits);
    EXPECT_EQ(calls, (std::vector<ForwardCall>{{0, static_cast<std::int64_t>(ids.size())}}));
  }
}

TEST_F(RecordedTest, DeliversOnlyTheWantedPositions) {
  const auto recorded = make_recorded(folder(), key_);
  const auto sink = keep(*recorded, {{1, 2, 3}, Split::full(), {0, 2}});
  EXPECT_THAT(sink.positions, ElementsAre(0, 2));
  EXPECT_EQ(sink.logits[static_cast<std::size_t>(kVocab)], 1020.0F);
}

TEST_F(RecordedTest, SaysThatItIsRecordedAndByWhom) {
  const EngineDescription description = make_recorded(folder(), key_)->description();
  EXPECT_EQ(description.engine, "transformers");
  EXPECT_EQ(description.version, "4.57.6");
  EXPECT_EQ(description.source, "recorded");
  EXPECT_EQ(description.settings.at("attention"), "eager");
}

TEST_F(RecordedTest, AnswersOnlyForItsKey) {
  RecordingKey other = key_;
  other.weights["model.safetensors"] = "sha256:0000";
  EXPECT_THAT(message(other), HasSubstr("other weights"));
  other = key_;
  other.weights["more.safetensors"] = "sha256:f47f";
  EXPECT_THAT(message(other), HasSubstr("other weights"));
  other = key_;
  other.dtype = "float16";
  EXPECT_THAT(message(other), HasSubstr("has dtype float32, expected float16"));
  other = key_;
  other.attention = "sdpa";
  EXPECT_THAT(message(other), HasSubstr("attention eager, expected sdpa"));
  EXPECT_THAT(message(key_, "4.57.7"), HasSubstr("expected version 4.57.7"));
  EXPECT_EQ(message(key_, "4.57.6"), "");
}

TEST_F(RecordedTest, HasNoLogitsForOtherIdsOrPaths) {
  const auto recorded = make_recorded(folder(), key_);
  EXPECT_THAT(what([&] {
                recorded->start({{1, 2, 4}, Split::full(), {}});
              }),
              HasSubstr("no logits for these 3"));
  EXPECT_THAT(what([&] {
                recorded->start({{1, 2}, Split::full(), {}});
              }),
              HasSubstr("no logits for these 2"));
  EXPECT_THAT(what([&] {
                recorded->start({{2, 2}, Split::parse("cached:every"), {}});
              }),
              HasSubstr("transformers (recorded) has no path cached:every"));
}

TEST_F(RecordedTest, IsAppendedToAsItWasRecordedAndInNoOtherWay) {
  const auto recorded = make_recorded(folder(), key_);
  const auto session = recorded->open_session({});
  KeepingSink sink;
  const std::vector<std::int32_t> whole = {1, 2, 3}, half = {1, 2}, more = {2, 2};
  const std::vector<std::int64_t> last = {2};
  EXPECT_THAT(what([&] { session->append(half, {}, sink); }), HasSubstr("no logits for these 2"));
  EXPECT_EQ(session->length(), 0);
  session->append(whole, last, sink);
  EXPECT_THAT(sink.positions, ElementsAre(2));
  EXPECT_EQ(session->length(), 3);
  EXPECT_EQ(session->calls(), (std::vector<ForwardCall>{{0, 3}}));
  EXPECT_THAT(what([&] { session->append(more, {}, sink); }), HasSubstr("nothing can be appended"));
  EXPECT_THAT(what([&] { session->crop(2); }), HasSubstr("cannot be cropped but to 0"));
  EXPECT_EQ(session->length(), 3);
  session->crop(0);
  session->append(more, {}, sink);
  EXPECT_EQ(session->length(), 2);
}

// almide/almide#2183: a golden made by the thing under test agrees with its faults.
TEST_F(RecordedTest, ItsOwnProducerIsNotComparedWithIt) {
  live_.name = "octlm";
  const auto own = temporary_.path() / "own";
  record_logits(live_, key_, {{1}}, own);
  EXPECT_THAT(what([&] { make_recorded(own, key_); }), HasSubstr("the engine under test"));
  EXPECT_EQ(what([&] { make_recorded(own, key_, "someone else"); }), "");
}

TEST_F(RecordedTest, ChangedBytesAreSeen) {
  const auto file = folder() / "logits.0.safetensors";
  std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
  stream.seekp(-1, std::ios::end);
  stream.put('\x11');
  stream.close();
  const auto recorded = make_recorded(folder(), key_);
  EXPECT_THAT(what([&] { recorded->start({{1, 2, 3}, Split::full(), {}}); }), HasSubstr("sha256"));
  EXPECT_THAT(what([&] { recorded->start({{1, 2, 3}, Split::full(), {}}); }), HasSubstr("sha256"));
  EXPECT_EQ(what([&] { recorded->start({{2, 2}, Split::full(), {}}); }), "");
}

TEST_F(RecordedTest, AManifestIsReadStrictly) {
  EXPECT_EQ(changed([](json&) {}), "");
  EXPECT_THAT(changed([](json& m) { m["tolerence"] = 1; }), HasSubstr("unknown key \"tolerence\""));
  EXPECT_THAT(changed([](json& m) { m["cases"][1]["x"] = 1; }),
              HasSubstr("cases[1]: unknown key \"x\""));
  EXPECT_THAT(changed([](json& m) { m.erase("dtype"); }), HasSubstr("\"dtype\" is missing"));
  EXPECT_THAT(changed([](json& m) { m["schema"] = 2; }), HasSubstr("\"schema\" is not 1"));
  EXPECT_THAT(changed([](json& m) { m["schema"] = "1"; }), HasSubstr("\"schema\" is not 1"));
  EXPECT_THAT(changed([](json& m) { m["cases"] = json::array(); }),
              HasSubstr("\"cases\" is not a list of cases"));
  EXPECT_THAT(changed([](json& m) { m["vocab_size"] = -5; }), HasSubstr("vocab_size"));
  EXPECT_THAT(changed([](json& m) { m["vocab_size"] = std::int64_t{1} << 62; }),
              HasSubstr("more than ids can number"));
  EXPECT_THAT(changed([](json& m) { m["cases"][0]["token_ids"][0] = 2; }), HasSubstr("sha256"));
  EXPECT_THAT(changed([](json& m) { m["cases"][0]["token_ids"][0] = 5; }),
              HasSubstr("outside the vocabulary"));
  EXPECT_THAT(changed([](json& m) { m["cases"][0]["token_ids"][0] = 1.5; }),
              HasSubstr("not an integer"));
  EXPECT_THAT(changed([](json& m) { m["cases"][1] = m["cases"][0]; }), HasSubstr("appear twice"));
  EXPECT_THAT(changed([](json& m) { m["cases"][0]["file"] = "../x"; }),
              HasSubstr("not a name in the folder"));
  EXPECT_THAT(changed([](json& m) { m["cases"][0]["calls"] = {1}; }), HasSubstr("a call is"));
  EXPECT_THAT(changed([](json& m) { m["dtype"] = 32; }), HasSubstr("\"dtype\" is not a string"));
}

TEST_F(RecordedTest, ABrokenManifestIsRefused) {
  const std::string good = text_of(manifest());
  std::ofstream(manifest()) << good.substr(0, good.size() / 2);
  EXPECT_THAT(message(), HasSubstr("not JSON"));
  std::ofstream(manifest()) << "{\"schema\": 1, \"schema\": 1}";
  EXPECT_THAT(message(), HasSubstr("duplicate key 'schema'"));
  std::ofstream(manifest()) << "{\"cases\": " << std::string(1'000'000, '[');
  EXPECT_THAT(message(), HasSubstr("nested deeper"));
  std::ofstream(manifest()) << "[]";
  EXPECT_THAT(message(), HasSubstr("not a JSON object"));
  std::filesystem::remove(manifest());
  EXPECT_THAT(message(), HasSubstr("has no manifest.json"));
}

TEST_F(RecordedTest, ATensorOfAnotherShapeIsRefused) {
  EXPECT_EQ(what([&] { make_recorded(folder(), key_)->start({{2, 2}, Split::full(), {}}); }), "");
  json value = json::parse(text_of(manifest()));
  std::swap(value["cases"][0]["file"], value["cases"][1]["file"]);
  std::swap(value["cases"][0]["file_sha256"], value["cases"][1]["file_sha256"]);
  std::swap(value["cases"][0]["tensor"], value["cases"][1]["tensor"]);
  std::ofstream(manifest()) << value.dump();
  EXPECT_THAT(what([&] {
                make_recorded(folder(), key_)->start({{2, 2}, Split::full(), {}});
              }),
              HasSubstr("is not [positions, vocab]"));
}

TEST_F(RecordedTest, RecordingRefusesNonsense) {
  EXPECT_THAT(what([&] { record_logits(live_, key_, {{1}}, folder()); }),
              HasSubstr("already holds"));
  const auto other = temporary_.path() / "other";
  EXPECT_THAT(what([&] { record_logits(live_, key_, {}, other); }), HasSubstr("no case"));
  EXPECT_THAT(what([&] { record_logits(live_, key_, {{1}, {1}}, other); }), HasSubstr("twice"));
  live_.settings["dtype"] = "bfloat16";
  EXPECT_THAT(what([&] { record_logits(live_, key_, {{1}}, other); }),
              HasSubstr("\"dtype\" is \"bfloat16\", expected \"float32\""));
  live_.settings["dtype"] = "float32";
  live_.settings["training"] = true;
  EXPECT_THAT(what([&] { record_logits(live_, key_, {{1}}, other); }),
              HasSubstr("[record] the engine's settings: \"training\" is true"));
  EXPECT_FALSE(std::filesystem::exists(other));
}

// What the producer computed with is part of what a recording is: it cannot say one thing at the
// top and another in its settings.
TEST_F(RecordedTest, SettingsThatContradictTheManifestAreRefused) {
  const auto with = [&](const char* name, const json& value) {
    return changed([&](json& m) { m["producer"]["settings"][name] = value; });
  };
  EXPECT_EQ(with("dtype", "bfloat16"),
            "[recorded] " + manifest().string() +
                ": producer.settings: \"dtype\" is \"bfloat16\", expected \"float32\"; record it "
                "again");
  EXPECT_THAT(with("dtype", json::array({"bfloat16", "float32"})), HasSubstr("\"dtype\" is ["));
  EXPECT_THAT(with("attention", "sdpa"), HasSubstr("\"attention\" is \"sdpa\""));
  EXPECT_THAT(with("training", true), HasSubstr("\"training\" is true, expected false"));
  EXPECT_THAT(with("training", "false"), HasSubstr("\"training\" is \"false\""));
  EXPECT_THAT(with("cuda.matmul.allow_tf32", true), HasSubstr("allow_tf32\" is true"));
  EXPECT_THAT(with("cudnn.allow_tf32", true), HasSubstr("\"cudnn.allow_tf32\" is true"));
  EXPECT_THAT(with("float32_matmul_precision", "high"), HasSubstr("expected \"highest\""));
  EXPECT_THAT(with("allow_bf16_reduced_precision_reduction", true), HasSubstr("is true"));
  EXPECT_THAT(with("tf32_probe", {{"exact", false}}), HasSubstr("\"tf32_probe/exact\" is false"));
  EXPECT_THAT(with("transformers", "4.50.0"), HasSubstr("expected \"4.57.6\""));
  EXPECT_EQ(with("device_name", "another"), "");
}

TEST_F(RecordedTest, SettingsThatSayNothingAreRefused) {
  for (const json& empty : {json::object(), json::array(), json(nullptr), json("float32")}) {
    EXPECT_THAT(changed([&](json& m) { m["producer"]["settings"] = empty; }),
                HasSubstr(": producer.settings: "));
  }
  for (const auto& [name, value] : live_.settings.items()) {
    EXPECT_THAT(changed([&](json& m) { m["producer"]["settings"].erase(name); }), HasSubstr(name))
        << name;
  }
  EXPECT_THAT(changed([](json& m) { m["producer"].erase("settings"); }), HasSubstr("settings"));
}

// TF32 is the experiment's to ask for: a recording made with it answers for nothing else.
TEST_F(RecordedTest, Tf32IsHeldAgainstWhatTheExperimentAsksFor) {
  RecordingKey tf32 = key_;
  tf32.tf32 = true;
  EXPECT_THAT(message(tf32), HasSubstr("\"cuda.matmul.allow_tf32\" is false, expected true"));
}

// A recording that fails half-way leaves no manifest and no partial file, and can be repeated.
TEST_F(RecordedTest, AnAttemptThatFailsIsNoRecording) {
  const auto torn = temporary_.path() / "torn";
  EXPECT_THAT(what([&] {
                record_logits(live_, key_, {{1, 2}, {1, 9}}, torn);
              }),
              HasSubstr("token id 9"));
  EXPECT_THAT(what([&] { make_recorded(torn, key_); }), HasSubstr("no manifest.json"));
  for (const auto& entry : std::filesystem::directory_iterator(torn)) {
    EXPECT_NE(entry.path().extension(), ".partial") << entry.path();
  }
  record_logits(live_, key_, {{1, 2}}, torn);
  EXPECT_EQ(keep(*make_recorded(torn, key_), {{1, 2}, Split::full(), {}}).logits.size(), 10U);
}

}  // namespace
}  // namespace octlm::reference
