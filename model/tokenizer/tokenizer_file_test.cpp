#include "model/tokenizer/tokenizer_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "model/tokenizer/testing/tiny_tokenizer.h"

namespace octlm::model {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::Json;
using testing::tiny;

std::string refusal(const std::string& text) {
  try {
    testing::load_text(text);
  } catch (const std::runtime_error& error) {
    return error.what();
  } catch (const std::exception& error) {
    return std::string("another exception: ") + error.what();
  }
  return "accepted";
}

struct BadFile {
  const char* name;
  std::function<void(Json&)> spoil;
  const char* place;
  const char* what;
};

const std::vector<BadFile>& bad_files() {
  static const std::vector<BadFile> files = {
      {"unknown field", [](Json& d) { d["extra"] = 1; }, "tokenizer.json", "unknown field 'extra'"},
      {"misspelt field", [](Json& d) { d["model"]["ignore_merge"] = true; }, "model",
       "did you mean 'ignore_merges'?"},
      {"no model", [](Json& d) { d.erase("model"); }, "tokenizer.json", "'model' is missing"},
      {"version", [](Json& d) { d["version"] = "2.0"; }, "version", "expected \"1.0\""},
      {"truncation", [](Json& d) { d["truncation"] = Json::object(); }, "truncation",
       "'max_length' is missing"},
      {"padding",
       [](Json& d) {
         d["padding"] = {{"strategy", "Longest"}};
       },
       "padding.strategy", "unknown value 'Longest'"},
      {"normalizer", [](Json& d) { d["normalizer"]["type"] = "NFKC"; }, "normalizer",
       "of type 'NFKC' is not supported"},
      // ggml-org/llama.cpp#29211: never the default in place of what is not known.
      {"pre_tokenizer",
       [](Json& d) {
         d["pre_tokenizer"]["pretokenizers"][0] = {{"type", "Whitespace"}};
       },
       "pre_tokenizer.pretokenizers[0]", "of type 'Whitespace' is not supported"},
      {"no ByteLevel", [](Json& d) { d["pre_tokenizer"]["pretokenizers"].erase(1); },
       "pre_tokenizer", "without ByteLevel"},
      {"two ByteLevels",
       [](Json& d) { d["pre_tokenizer"]["pretokenizers"].push_back(testing::byte_level(false)); },
       "pre_tokenizer.pretokenizers[2]", "nothing may follow ByteLevel"},
      {"expression",
       [](Json& d) { d["pre_tokenizer"]["pretokenizers"][0]["pattern"]["Regex"] = "\\w+"; },
       "pre_tokenizer.pretokenizers[0].pattern.Regex", "the escape \\w"},
      {"behavior", [](Json& d) { d["pre_tokenizer"]["pretokenizers"][0]["behavior"] = "isolated"; },
       "pre_tokenizer.pretokenizers[0].behavior", "unknown behavior 'isolated'"},
      {"wrong type of flag",
       [](Json& d) { d["pre_tokenizer"]["pretokenizers"][0]["invert"] = "no"; },
       "pre_tokenizer.pretokenizers[0].invert", "expected true or false, found '\"no\"'"},
      {"decoder",
       [](Json& d) {
         d["decoder"] = {{"type", "Metaspace"}};
       },
       "decoder", "of type 'Metaspace'"},
      {"no decoder", [](Json& d) { d["decoder"] = nullptr; }, "decoder",
       "without a ByteLevel decoder"},
      {"post_processor",
       [](Json& d) {
         d["post_processor"] = {{"type", "BertProcessing"}};
       },
       "post_processor", "of type 'BertProcessing'"},
      {"model", [](Json& d) { d["model"]["type"] = "Unigram"; }, "model", "of type 'Unigram'"},
      {"dropout", [](Json& d) { d["model"]["dropout"] = 0.1; }, "model.dropout",
       "is not supported"},
      {"byte_fallback", [](Json& d) { d["model"]["byte_fallback"] = true; }, "model.byte_fallback",
       "is not supported"},
      {"suffix", [](Json& d) { d["model"]["end_of_word_suffix"] = "</w>"; },
       "model.end_of_word_suffix", "is not supported"},
      {"unk_token", [](Json& d) { d["model"]["unk_token"] = "a", d["model"]["vocab"].erase("c"); },
       "model.unk_token", "lacks byte 99"},
      {"id of wrong type", [](Json& d) { d["model"]["vocab"]["a"] = "97"; }, "model.vocab.'a'",
       "expected a token id"},
      {"negative id", [](Json& d) { d["model"]["vocab"]["a"] = -1; }, "model.vocab.'a'",
       "expected a token id"},
      {"fractional id", [](Json& d) { d["model"]["vocab"]["a"] = 97.0; }, "model.vocab.'a'",
       "expected a token id"},
      {"id out of range", [](Json& d) { d["model"]["vocab"]["a"] = 4294967296; }, "model.vocab.'a'",
       "out of range"},
      {"duplicate id", [](Json& d) { d["model"]["vocab"]["a"] = 98; }, "model.vocab",
       "id 98 belongs to"},
      {"vocab of wrong type", [](Json& d) { d["model"]["vocab"] = Json::array(); }, "model.vocab",
       "expected an object"},
      {"merges of wrong type", [](Json& d) { d["model"]["merges"] = Json::object(); },
       "model.merges", "expected an array"},
      {"merge of three",
       [](Json& d) {
         d["model"]["merges"] = {{"a", "b", "c"}};
       },
       "model.merges[0]", "array of two"},
      {"merge with two spaces", [](Json& d) { d["model"]["merges"] = {"a b c"}; },
       "model.merges[0]", "one space between"},
      {"mixed spellings", [](Json& d) { d["model"]["merges"].push_back("a b"); }, "model.merges[1]",
       "array of two"},
      {"part unknown",
       [](Json& d) {
         d["model"]["merges"].push_back({"zz", "b"});
       },
       "model.merges[1]", "the part 'zz' is not in the vocabulary"},
      {"result unknown",
       [](Json& d) {
         d["model"]["merges"].push_back({"a", "c"});
       },
       "model.merges[1]", "the result 'ac' is not in the vocabulary"},
      // The one way in which merges can go round: a part that adds nothing.
      {"cycle",
       [](Json& d) {
         d["model"]["merges"].push_back({"a", ""});
       },
       "model.merges[1]", "merge for ever"},
      {"merge twice",
       [](Json& d) {
         d["model"]["merges"].push_back({"a", "b"});
       },
       "model.merges[1]", "twice"},
      {"added id", [](Json& d) { d["added_tokens"] = {testing::added(300, "<x>")}; },
       "added_tokens[0]", "has id 300, expected 257, the next free id"},
      {"added id taken", [](Json& d) { d["added_tokens"] = {testing::added(98, "a")}; },
       "added_tokens[0]", "has id 98, expected 97, its id in the vocabulary"},
      {"added twice",
       [](Json& d) {
         d["added_tokens"] = {testing::added(257, "<x>"), testing::added(258, "<x>")};
       },
       "added_tokens[1]", "duplicate token '<x>'"},
      {"added flag",
       [](Json& d) {
         d["added_tokens"] = {testing::added(257, "<x>")};
         d["added_tokens"][0]["lstripp"] = true;
       },
       "added_tokens[0]", "did you mean 'lstrip'?"},
      {"added flag missing",
       [](Json& d) {
         d["added_tokens"] = {testing::added(257, "<x>")};
         d["added_tokens"][0].erase("normalized");
       },
       "added_tokens[0]", "'normalized' is missing"},
      {"added empty", [](Json& d) { d["added_tokens"] = {testing::added(257, "")}; },
       "added_tokens[0]", "an empty"},
      {"same when normalised",
       [](Json& d) {
         d["added_tokens"] = {testing::added(257, "\u00e9\u00e9"),
                              testing::added(258, "e\u0301e\u0301")};
         for (auto& token : d["added_tokens"]) token["normalized"] = true;
       },
       "added_tokens", "the same when normalised"},
  };
  return files;
}

TEST(TokenizerFile, RefusesByNameAndPlace) {
  ASSERT_EQ(refusal(tiny({{"a", "b"}}).dump()), "accepted");
  for (const BadFile& bad : bad_files()) {
    Json document = tiny({{"a", "b"}});
    bad.spoil(document);
    EXPECT_THAT(refusal(document.dump()), AllOf(HasSubstr(bad.place), HasSubstr(bad.what)))
        << bad.name;
  }
}

TEST(TokenizerFile, RefusesWhatIsNoJson) {
  const std::string whole = tiny({{"a", "b"}}).dump();
  for (std::size_t size = 0; size < whole.size(); size += 1 + whole.size() / 97) {
    EXPECT_THAT(refusal(whole.substr(0, size)), HasSubstr("tokenizer.json: not JSON")) << size;
  }
  EXPECT_THAT(refusal(whole + "x"), HasSubstr("not JSON"));
  EXPECT_THAT(refusal("[]"), HasSubstr("expected an object"));
  EXPECT_THAT(refusal("{\"version\": \"\xff\"}"), HasSubstr("not JSON"));
  EXPECT_THAT(refusal(std::string(1000, '[')), HasSubstr("not JSON"));
  std::string twice = whole;
  twice.replace(twice.find("\"version\""), 0, "\"version\":\"1.0\",");
  EXPECT_THAT(refusal(twice), HasSubstr("duplicate field 'version'"));
  std::string token_twice = whole;
  token_twice.replace(token_twice.find("\"a\":97"), 0, "\"a\":9999,");
  EXPECT_THAT(refusal(token_twice), HasSubstr("duplicate token 'a'"));
}

TEST(TokenizerFile, SaysThatThereIsNoFile) {
  const testing::Folder folder;
  EXPECT_THROW(Tokenizer::load(folder.path()), std::runtime_error);
}

TEST(TokenizerFile, ReadsBothSpellingsOfMerges) {
  Json document = tiny({{"a", "b"}, {"ab", "c"}});
  const auto ids = testing::load(document).encode_literal("abc");
  document["model"]["merges"] = {"a b", "ab c"};
  document["model"].erase("ignore_merges");
  document["model"].erase("type");
  EXPECT_EQ(testing::load(document).encode_literal("abc"), ids);
  EXPECT_EQ(ids, std::vector<std::int32_t>{257});
}

}  // namespace
}  // namespace octlm::model
