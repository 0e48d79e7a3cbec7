// tokenizer_parity and template_parity, run by the runner on fake tokenizers: they pass on equal
// sides, fail on one difference of any sort, and never pass on nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "experiments/kinds/kinds.h"
#include "experiments/testing/fake_text_machine.h"
#include "formats/error.h"
#include "verify/runner.h"

namespace octlm::experiments {
namespace {

using model::testing::TemporaryFolder;
using testing::FakeTextEngine;
using testing::FakeTextMachine;
using ::testing::HasSubstr;
using verify::Verdict;

const char* kTokenizerParity = R"({
  "schema": 1, "id": "EXP-900", "title": "t", "kind": "tokenizer_parity", "tags": [],
  "question": "q", "prediction": "p",
  "model": {"id": "fake"}, "reference": {"engine": "transformers"}, "subject": {"engine": "octlm"},
  "cases": [
    {"name": "stated", "mode": "literal", "text": "a <s>", "token_ids": [97, 32, 60, 115, 62]},
    {"name": "native", "mode": "native", "text": "a <s>", "token_ids": [97, 32, 256]},
    {"name": "file", "mode": "literal", "texts": {"file": "texts.jsonl"}},
    {"name": "random", "mode": "literal",
     "texts": {"set": "random_texts@1", "count": 9000, "seed": 3}},
    {"name": "ids", "token_ids": [104, 256, 105]},
    {"name": "random ids",
     "ids": {"set": "random_ids@1", "count": 50, "seed": 4, "from": 0, "below": 300}},
    {"name": "chats", "chat": "chats.jsonl"},
    {"name": "a chat", "chat": "chat.json", "thinking": true, "text": "<s>hi</s>",
     "token_ids": [256, 104, 105, 257]}],
  "criteria": [
    {"metric": "ids_equal@1", "equals": 1, "when": {"path": "literal"}},
    {"metric": "ids_equal@1", "equals": 1, "when": {"path": "native"}},
    {"metric": "ids_equal@1", "equals": 1, "when": {"path": "chat"}},
    {"metric": "text_equal@1", "equals": 1},
    {"metric": "roundtrip_equal@1", "equals": 1, "when": {"path": "literal"}},
    {"metric": "offsets_equal@1", "equals": 1, "when": {"path": "literal"}},
    {"metric": "control_ids_from_text@1", "equals": 0, "when": {"path": "literal"}},
    {"metric": "control_ids_from_text@1", "equals": 0, "when": {"path": "chat"}}],
  "stop_rule": "s"})";

const char* kTemplateParity = R"({
  "schema": 1, "id": "EXP-901", "title": "t", "kind": "template_parity", "tags": [],
  "question": "q", "prediction": "p",
  "model": {"id": "fake"}, "reference": {"engine": "transformers"}, "subject": {"engine": "octlm"},
  "cases": [{"name": "chats", "chat": "chats.jsonl"}],
  "criteria": [{"metric": "ids_equal@1", "equals": 1}, {"metric": "text_equal@1", "equals": 1},
               {"metric": "control_ids_from_text@1", "equals": 0}],
  "stop_rule": "s"})";

verify::RunResult run(FakeTextMachine& machine, const std::string& spec_text) {
  const Environment environment = machine.environment();
  const auto kinds = all_kinds();
  std::vector<verify::RunItem> items;
  items.push_back(verify::read_item(
      verify::parse_spec(spec_text, machine.folder.path() / "EXP-900.json", kinds), kinds));
  TemporaryFolder reports;
  verify::RunOptions options;
  options.reports = reports.path();
  options.host = &environment;
  return verify::run(options, items);
}

const verify::ExperimentResult& only(const verify::RunResult& run) { return run.experiments.at(0); }

const nlohmann::json& record(const verify::RunResult& run, std::size_t comparison) {
  return only(run).comparisons.at(comparison).measurement()->record;
}

// The criteria that do not hold, by metric.
std::vector<std::string> failed(const verify::RunResult& run) {
  std::vector<std::string> metrics;
  for (const auto& criterion : only(run).judgement.criteria) {
    if (criterion.holds == false) metrics.push_back(criterion.metric);
  }
  return metrics;
}

TEST(TokenizerParity, PassesOnEqualSidesAndCountsWhatItCompared) {
  FakeTextMachine machine;
  const auto result = run(machine, kTokenizerParity);
  EXPECT_EQ(result.summary.exit_code, verify::kExitPass) << only(result).judgement.reason;
  EXPECT_EQ(only(result).compared(), 8);
  const auto& metrics = only(result).comparisons.at(3).measurement()->metrics;
  EXPECT_EQ(std::get<verify::Agreement>(metrics.at("ids_equal@1")),
            (verify::Agreement{9000, 9000}));
  EXPECT_EQ(std::get<verify::Agreement>(metrics.at("text_equal@1")),
            (verify::Agreement{27000, 27000}));
  EXPECT_EQ(std::get<verify::Agreement>(metrics.at("roundtrip_equal@1")),
            (verify::Agreement{9000, 9000}));
  const auto& stated = only(result).comparisons.at(0).measurement()->metrics;
  EXPECT_EQ(std::get<verify::Agreement>(stated.at("ids_equal@1")).of, 2)
      << "the reference's and the spec's";
  EXPECT_EQ(record(result, 3).at("given"), 9000);
}

TEST(TokenizerParity, OneIdOfOneTextFails) {
  FakeTextMachine machine;
  machine.set_subject = [](FakeTextEngine& engine) {
    engine.encode_fault = [](const std::string& text, reference::Encoding& encoding) {
      if (text == "two <s> é") encoding.ids.at(5) = 83;  // S of <s>
    };
  };
  const auto result = run(machine, kTokenizerParity);
  EXPECT_EQ(result.summary.exit_code, verify::kExitFail);
  EXPECT_THAT(failed(result), ::testing::ElementsAre("ids_equal@1", "roundtrip_equal@1"));
  const auto& difference = record(result, 2).at("differences").at("ids_equal@1");
  EXPECT_EQ(difference.at("index"), 1);
  EXPECT_EQ(difference.at("position"), 5);
  EXPECT_EQ(difference.at("given"), "two <s> é");
  EXPECT_EQ(difference.at("subject").at(5),
            nlohmann::json({{"position", 5}, {"token_id", 83}, {"token", "S"}}));
  EXPECT_EQ(difference.at("reference").at(5).at("token"), "s");
}

TEST(TokenizerParity, OtherIdsThanTheSpecStatesFailThoughBothSidesAgree) {
  FakeTextMachine machine;
  std::string spec = kTokenizerParity;
  spec.replace(spec.find("[97, 32, 256]"), 13, "[97, 32, 257]");
  const auto result = run(machine, spec);
  EXPECT_THAT(failed(result), ::testing::ElementsAre("ids_equal@1"));
  EXPECT_EQ(record(result, 1).at("differences").at("ids_equal@1").at("against"), "spec");
}

TEST(TokenizerParity, AnIdForOtherCharactersFails) {
  FakeTextMachine machine;
  machine.set_subject = [](FakeTextEngine& engine) {
    engine.encode_fault = [](const std::string& text, reference::Encoding& encoding) {
      if (text == "two <s> é") encoding.spans.back() = 8;
    };
  };
  const auto result = run(machine, kTokenizerParity);
  EXPECT_THAT(failed(result), ::testing::ElementsAre("offsets_equal@1"));
  const auto& difference = record(result, 2).at("differences").at("offsets_equal@1");
  EXPECT_EQ(difference.at("position"), 9);
  EXPECT_EQ(difference.at("subject"), nlohmann::json({8, 8}));
  EXPECT_EQ(difference.at("reference"), nlohmann::json({8, 9}));
}

// huggingface/transformers#29279, huggingface/tokenizers#1347: what was typed becomes a control
// token.
TEST(TokenizerParity, ALiteralControlTokenFailsThoughTheReferenceMakesItToo) {
  FakeTextMachine machine;
  machine.set_subject = machine.set_reference = [](FakeTextEngine& engine) {
    engine.encode_fault = [](const std::string& text, reference::Encoding& encoding) {
      if (text == "two <s> é") {
        encoding.ids = FakeTextEngine::with_control(text);
        encoding.spans.resize(2 * encoding.ids.size());
      }
    };
  };
  const auto result = run(machine, kTokenizerParity);
  EXPECT_THAT(failed(result), ::testing::ElementsAre("control_ids_from_text@1"));
  EXPECT_EQ(record(result, 2).at("differences").at("control_ids_from_text@1").at("position"), 4);
}

// exo-explore/exo#1691: the pieces of one id at a time are not the text.
TEST(TokenizerParity, EachWayOfDecodingIsCompared) {
  for (const auto decoding : {reference::Decoding::kWhole, reference::Decoding::kSkippingSpecial,
                              reference::Decoding::kOneByOne}) {
    FakeTextMachine machine;
    machine.set_subject = [&](FakeTextEngine& engine) {
      engine.decode_fault = [&](reference::Decoding way, std::string& text) {
        if (way == decoding && (text == "h<s>i" || text == "hi")) text += "?";
      };
    };
    const auto result = run(machine, kTokenizerParity);
    EXPECT_EQ(result.summary.exit_code, verify::kExitFail);
    EXPECT_THAT(failed(result), ::testing::Contains("text_equal@1"));
    EXPECT_EQ(record(result, 4).at("differences").at("text_equal@1").at("given").at(1).at("token"),
              "<s>");
  }
}

TEST(TokenizerParity, ATextThatOneSideRefusesDiffers) {
  FakeTextMachine machine;
  machine.set_subject = [](FakeTextEngine& engine) {
    engine.encode_fault = [](const std::string& text, reference::Encoding& encoding) {
      if (text == "one") encoding = {{}, {}, "not today"};
    };
  };
  const auto result = run(machine, kTokenizerParity);
  EXPECT_EQ(result.summary.exit_code, verify::kExitFail);
  EXPECT_EQ(record(result, 2).at("differences").at("ids_equal@1").at("subject_refuses"),
            "not today");
}

TEST(TokenizerParity, WhatBothRefuseIsCountedAndAloneIsAnError) {
  FakeTextMachine machine;
  machine.write("texts.jsonl", "\"refuse me\"\n\"two\"\n");
  const auto some = run(machine, kTokenizerParity);
  EXPECT_EQ(some.summary.exit_code, verify::kExitPass);
  EXPECT_EQ(record(some, 2).at("refused_by_both"), 1);
  machine.write("texts.jsonl", "\"refuse me\"\n");
  const auto none = run(machine, kTokenizerParity);
  EXPECT_EQ(only(none).judgement.verdict, Verdict::kError);
  EXPECT_THAT(only(none).judgement.reason, HasSubstr("nothing was compared"));
}

TEST(TokenizerParity, WithoutTokenizerOrReferenceNothingPasses) {
  FakeTextMachine machine;
  machine.no_checkpoint = verify::NotRun{"get it with: ./octlm fetch fake", "weights"};
  const auto no_files = run(machine, kTokenizerParity);
  EXPECT_EQ(only(no_files).judgement.verdict, Verdict::kNotRun);
  EXPECT_EQ(no_files.summary.exit_code, verify::kExitError);
  machine.no_checkpoint.reset();
  machine.no_reference = verify::NotRun{"no Python", "reference"};
  EXPECT_EQ(only(run(machine, kTokenizerParity)).judgement.verdict, Verdict::kNotRun);
}

TEST(TokenizerParity, APromptFileIsPartOfTheDigest) {
  FakeTextMachine machine;
  const auto kinds = all_kinds();
  const auto digest = [&] {
    return verify::parse_spec(kTokenizerParity, machine.folder.path() / "s.json", kinds).sha256;
  };
  const std::string before = digest();
  machine.write("texts.jsonl", "\"another\"\n");
  const std::string after = digest();
  EXPECT_NE(after, before);
  machine.write("chat.json", R"({"messages": [{"role": "user", "content": "other"}]})");
  EXPECT_NE(digest(), after);
}

TEST(TemplateParity, PassesOnEqualSides) {
  FakeTextMachine machine;
  const auto result = run(machine, kTemplateParity);
  EXPECT_EQ(result.summary.exit_code, verify::kExitPass) << only(result).judgement.reason;
  const auto& metrics = only(result).comparisons.at(0).measurement()->metrics;
  EXPECT_EQ(std::get<verify::Agreement>(metrics.at("ids_equal@1")).of, 4)
      << "by origin and as Transformers, two chats";
}

TEST(TemplateParity, EachPartOfARenderingIsCompared) {
  struct Case {
    const char* what;
    std::function<void(reference::Rendering&)> fault;
    std::vector<std::string> fails;
  };
  const std::vector<Case> cases = {
      {"text", [](auto& one) { one.text += " "; }, {"text_equal@1"}},
      {"ids", [](auto& one) { one.ids.push_back(1); }, {"ids_equal@1"}},
      {"compatible ids", [](auto& one) { one.compatible_ids.push_back(1); }, {"ids_equal@1"}},
      // ggml-org/llama.cpp#26273
      {"the user's control strings",
       [](auto& one) { one.ids = one.compatible_ids; },
       {"ids_equal@1", "control_ids_from_text@1"}},
      {"refused",
       [](auto& one) { one = {.text = {}, .ids = {}, .compatible_ids = {}, .refusal = "no"}; },
       {"ids_equal@1"}}};
  for (const Case& item : cases) {
    FakeTextMachine machine;
    machine.set_subject = [&](FakeTextEngine& engine) {
      engine.render_fault = [&](reference::Rendering& one) {
        if (one.text.starts_with("<s>x")) item.fault(one);
      };
    };
    const auto result = run(machine, kTemplateParity);
    EXPECT_EQ(result.summary.exit_code, verify::kExitFail) << item.what;
    EXPECT_EQ(failed(result), item.fails) << item.what;
  }
}

TEST(TemplateParity, IdsOfUnknownOriginAreCountedNotCompared) {
  FakeTextMachine machine;
  machine.set_reference = [](FakeTextEngine& engine) {
    engine.render_fault = [](reference::Rendering& one) {
      one.origin_known = false;
      one.ids.clear();
    };
  };
  const auto result = run(machine, kTemplateParity);
  EXPECT_EQ(only(result).judgement.verdict, Verdict::kFail)
      << "control_ids_from_text@1 was never counted";
  EXPECT_EQ(record(result, 0).at("origin_unknown"), 2);
}

TEST(TextParity, ReadsItsPartsStrictly) {
  struct Case {
    const char* from;
    const char* to;
    const char* says;
  };
  const std::vector<Case> cases = {
      {"\"mode\": \"literal\", \"text\": \"a <s>\"", "\"mode\": \"literl\", \"text\": \"a <s>\"",
       "literal"},
      {"\"mode\": \"literal\", \"text\": \"a <s>\"", "\"text\": \"a <s>\"", "mode"},
      {"texts.jsonl", "absent.jsonl", "absent.jsonl"},
      {"\"texts.jsonl\"", "\"../texts.jsonl\"", "file"},
      {"random_texts@1", "random_text@1", "random_texts@1"},
      {"\"count\": 9000", "\"count\": 0", "count"},
      {"\"thinking\": true", "\"thinking\": 1", "thinking"},
      {"\"chats.jsonl\"}", "\"chats.jsonl\", \"text\": \"x\"}", "several"},
      {"\"below\": 300", "\"below\": 0", "below"},
      {"{\"engine\": \"octlm\"}", "{\"engine\": \"octlm\", \"dtype\": \"float32\"}", "dtype"},
      {"\"random\"", "\"file\"", "another case"},
  };
  for (const Case& item : cases) {
    std::string text = kTokenizerParity;
    const auto at = text.find(item.from);
    ASSERT_NE(at, std::string::npos) << item.from;
    text.replace(at, std::string(item.from).size(), item.to);
    FakeTextMachine machine;
    try {
      run(machine, text);
      ADD_FAILURE() << "accepted " << item.to;
    } catch (const formats::FormatError& error) {
      EXPECT_THAT(error.what(), HasSubstr(item.says));
    }
  }
}

}  // namespace
}  // namespace octlm::experiments
