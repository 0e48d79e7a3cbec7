// Cases of logit kinds that give a text or a chat: the ids are the tokenizer's, and ids beside them
// must agree.
#include "experiments/kinds/case_ids.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "experiments/kinds/token_text.h"
#include "formats/json_reader.h"
#include "model/tokenizer/testing/tiny_tokenizer.h"

namespace octlm::experiments {
namespace {

using model::testing::Folder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Bytes are their own ids, 256 is "ab"; 257 and 258 are <s> and </s>.
struct Checkpoint {
  Folder folder;
  Checkpoint() {
    auto document = model::testing::tiny({{"a", "b"}});
    document["added_tokens"] = {model::testing::added(257, "<s>"),
                                model::testing::added(258, "</s>")};
    folder.write(document.dump());
    std::ofstream(folder.path() / "tokenizer_config.json")
        << R"({"chat_template": "{% for m in messages %}<s>{{ m.content }}</s>{% endfor %})"
        << R"({% if enable_thinking %}T{% endif %}"})";
    std::ofstream(folder.path() / "chat.json")
        << R"({"messages": [{"role": "user", "content": "ab<s>"}]})";
  }

  std::vector<TokenCase> read(const std::string& cases) const {
    const auto document = nlohmann::json::parse(cases);
    return read_token_cases(formats::Reader(document, (folder.path() / "spec.json").string()));
  }
  std::vector<TokenCase> filled(const std::string& cases) const {
    auto read_cases = read(cases);
    EXPECT_FALSE(fill_token_ids(read_cases, folder.path()).has_value());
    return read_cases;
  }
  std::string refusal(const std::string& cases) const {
    try {
      filled(cases);
    } catch (const formats::FormatError& error) {
      return error.what();
    }
    return "";
  }
};

TEST(CaseIds, ATextIsLiteralUnlessItSaysNative) {
  const auto cases = Checkpoint().filled(
      R"([{"name": "a", "text": "ab<s>"}, {"name": "b", "text": "ab<s>", "mode": "native"}])");
  EXPECT_THAT(cases[0].token_ids, ElementsAre(256, 60, 115, 62));
  EXPECT_THAT(cases[1].token_ids, ElementsAre(256, 257));
  EXPECT_EQ(cases[0].ids_from, "text");
}

// And what the template writes is not written again: one <s>, not two
// (abetlen/llama-cpp-python#1501, vllm-project/vllm#27515).
TEST(CaseIds, AChatIsRenderedAndItsWordsStayWords) {
  const auto cases = Checkpoint().filled(
      R"([{"name": "a", "chat": "chat.json"},
          {"name": "b", "chat": "chat.json", "thinking": true}])");
  EXPECT_THAT(cases[0].token_ids, ElementsAre(257, 256, 60, 115, 62, 258));
  EXPECT_THAT(cases[1].token_ids, ElementsAre(257, 256, 60, 115, 62, 258, 84));
  EXPECT_EQ(cases[1].ids_from, "chat");
}

TEST(CaseIds, IdsBesideTheirTextMustAgree) {
  const Checkpoint checkpoint;
  const auto cases = checkpoint.filled(
      R"([{"name": "a", "token_ids": [256, 60], "text": "ab<"}, {"name": "b", "token_ids": [7]}])");
  EXPECT_EQ(cases[0].ids_from, "spec, equal to its text");
  EXPECT_EQ(cases[1].ids_from, "spec");
  const std::string refusal =
      checkpoint.refusal(R"([{"name": "a", "token_ids": [256, 61], "text": "ab<"}])");
  EXPECT_THAT(refusal, HasSubstr("case \"a\""));
  EXPECT_THAT(refusal, HasSubstr("at position 1 they have 61, the text gives 60"));
  EXPECT_THAT(checkpoint.refusal(R"([{"name": "a", "token_ids": [256], "text": "ab<"}])"),
              HasSubstr("they have no id"));
}

TEST(CaseIds, WhatStandsBesideAChatMustAgree) {
  const Checkpoint checkpoint;
  EXPECT_EQ(checkpoint.refusal(
                R"([{"name": "a", "chat": "chat.json", "text": "<s>ab<s></s>",
               "token_ids": [257, 256, 60, 115, 62, 258]}])"),
            "");
  EXPECT_THAT(checkpoint.refusal(R"([{"name": "a", "chat": "chat.json", "text": "<s>ab</s>"}])"),
              HasSubstr("another text"));
  EXPECT_THAT(checkpoint.refusal(
                  R"([{"name": "a", "chat": "chat.json", "token_ids": [257, 256, 257, 258]}])"),
              HasSubstr("position 2"));
}

TEST(CaseIds, WithoutATokenizerOnlyIdsCanBeRun) {
  const Checkpoint checkpoint;
  const Folder bare;
  auto given = checkpoint.read(R"([{"name": "a", "token_ids": [1], "text": "whatever"}])");
  EXPECT_FALSE(fill_token_ids(given, bare.path()).has_value());
  EXPECT_EQ(given[0].ids_from, "spec");
  auto missing =
      checkpoint.read(R"([{"name": "a", "token_ids": [1]}, {"name": "b", "text": "x"}])");
  const auto absent = fill_token_ids(missing, bare.path());
  ASSERT_TRUE(absent.has_value());
  EXPECT_THAT(absent->reason, HasSubstr("\"b\""));
  EXPECT_EQ(absent->needs, "weights");
}

TEST(CaseIds, AnEmptyPromptIsRefused) {
  std::vector<TokenCase> cases(1);
  cases[0].chat = R"({"messages": [{"role": "user", "content": ""}]})";
  const Checkpoint checkpoint;
  std::ofstream(checkpoint.folder.path() / "tokenizer_config.json")
      << R"({"chat_template": "{{ messages[0].content }}"})";
  EXPECT_THROW(fill_token_ids(cases, checkpoint.folder.path()), formats::FormatError);
}

// What stands beside the numbers of a record, for people.
TEST(TokenText, IsOfTheTokensAndOfWhatComesBefore) {
  const Checkpoint checkpoint;
  const auto tokenizer = model::Tokenizer::load(checkpoint.folder.path());
  const std::vector<std::int32_t> ids = {257, 256, 60, 115, 62, 258};
  nlohmann::json worst = {{"position", 2},
                          {"token_id", 256},
                          {"subject_top5", {{{"token_id", 115}, {"value", 1.0}}}},
                          {"reference_top5", {{{"token_id", 200}, {"value", 1.0}}}}};
  add_token_text(worst, ids, tokenizer);
  EXPECT_EQ(worst["text"], "ab");
  EXPECT_EQ(worst["context"], "<s>ab<");
  EXPECT_EQ(worst["subject_top5"][0]["text"], "s");
  EXPECT_EQ(worst["reference_top5"][0]["text"], "\xEF\xBF\xBD") << "a byte that is no character";
}

TEST(TokenText, OfALongPromptOnlyTheEnd) {
  const Checkpoint checkpoint;
  const auto tokenizer = model::Tokenizer::load(checkpoint.folder.path());
  std::vector<std::int32_t> ids(40, 'x');
  ids[39] = 'y';
  nlohmann::json worst = {{"position", 39},
                          {"token_id", 'z'},
                          {"subject_top5", nlohmann::json::array()},
                          {"reference_top5", nlohmann::json::array()}};
  add_token_text(worst, ids, tokenizer);
  EXPECT_EQ(worst["context"], "xxxxxxxxxxxy");
}

}  // namespace
}  // namespace octlm::experiments
