#include "verify/strict_json.h"

#include <gmock/gmock.h>

#include "verify/testing/fake_experiment.h"

namespace octlm::verify {
namespace {

using ::testing::HasSubstr;
using testing::message_of;
using ::testing::StartsWith;

std::string refusal(std::string_view text) {
  return message_of<SpecError>([&] { parse_strict(text, "f.json"); });
}

TEST(ParseStrict, KeepsWhatIsThere) {
  EXPECT_EQ(parse_strict(R"( {"a": [1, -2.5e-3, true, null, "é\u0000\ud83d\ude42"]} )", "f.json"),
            nlohmann::json::parse(R"({"a": [1, -2.5e-3, true, null, "é\u0000🙂"]})"));
  EXPECT_TRUE(parse_strict("9007199254740992", "f").is_number_integer());
  EXPECT_EQ(parse_strict("-0.0", "f").get<double>(), 0);
}

TEST(ParseStrict, RefusesDuplicateKeysWithThePlace) {
  EXPECT_THAT(refusal("{\"a\": 1,\n \"a\": 2}"), StartsWith("f.json:2:4: the key \"a\""));
  EXPECT_THAT(refusal(R"({"b": [{"a": 1, "a": 1}]})"), HasSubstr("duplicate key \"a\""));
  EXPECT_THAT(refusal(R"({"a": 1, "\u0061": 2})"), HasSubstr("duplicate key \"a\""));
  EXPECT_EQ(refusal(R"({"a": {"a": 1}, "b": {"a": 1}})"), "");
}

TEST(ParseStrict, RefusesNumbersThatAreNot) {
  for (const char* text :
       {"NaN", "nan", "Infinity", "-Infinity", "inf", "+1", "01", ".5", "1.", "0x10", "1e", "-"}) {
    EXPECT_NE(refusal(text), "") << text;
  }
  EXPECT_NE(refusal(R"({"at_most": 1e400})"), "");
  EXPECT_NE(refusal(R"({"at_most": -1e400})"), "");
  EXPECT_THAT(refusal("1e-400"), HasSubstr("too small"));
  EXPECT_EQ(refusal("0e-400"), "");
  EXPECT_EQ(refusal("5e-324"), "");
  EXPECT_THAT(refusal("9007199254740993"), HasSubstr("2^53"));
  EXPECT_THAT(refusal("-9007199254740993"), HasSubstr("2^53"));
  EXPECT_THAT(refusal("123456789012345678901234567890"), HasSubstr("2^53"));
}

TEST(ParseStrict, RefusesTextAfterTheValue) {
  EXPECT_THAT(refusal("{} x"), StartsWith("f.json:1:4: "));
  EXPECT_NE(refusal("1 2"), "");
  EXPECT_NE(refusal("{}{}"), "");
  EXPECT_NE(refusal("// note\n{}"), "");
  EXPECT_NE(refusal("[1,]"), "");
  EXPECT_NE(refusal(""), "");
  EXPECT_NE(refusal("{\"a\": 1"), "");
}

TEST(ParseStrict, RefusesWhatIsNotUtf8) {
  EXPECT_THAT(refusal("{\"a\":\n\"\xff\"}"), StartsWith("f.json:2:2: not UTF-8"));
  EXPECT_NE(refusal("\"\xc0\xaf\""), "");          // overlong
  EXPECT_NE(refusal("\"\xed\xa0\x80\""), "");      // surrogate
  EXPECT_NE(refusal("\"\xf4\x90\x80\x80\""), "");  // past U+10FFFF
  EXPECT_NE(refusal("\"\xe2\x82\""), "");          // cut
  EXPECT_NE(refusal(R"("\ud800")"), "");           // half a pair
  EXPECT_THAT(refusal("\xEF\xBB\xBF{}"), HasSubstr("byte order mark"));
  EXPECT_NE(refusal("\"a\nb\""), "");  // a raw control character
}

TEST(ParseStrict, RefusesDeepNestingWithoutRecursing) {
  EXPECT_EQ(refusal(std::string(64, '[') + std::string(64, ']')), "");
  EXPECT_THAT(refusal(std::string(65, '[') + std::string(65, ']')), HasSubstr("nested deeper"));
  EXPECT_THAT(refusal(std::string(1000000, '[')), HasSubstr("nested deeper"));
}

TEST(ReadStrict, NamesTheFile) {
  EXPECT_THAT(message_of<SpecError>([] { read_strict("/nonexistent/x.json"); }),
              HasSubstr("/nonexistent/x.json: cannot be read: No such file"));
  EXPECT_THAT(message_of<SpecError>([] { read_strict("/tmp"); }), HasSubstr("/tmp: is a folder"));
}

const nlohmann::json kDocument = nlohmann::json::parse(
    R"({"name": "x", "count": 3, "ratio": 0.5, "flag": true, "list": [1, {"deep": 1}],
        "files": {"a.b": "h"}, "blank": " "})");

std::string reading(const std::function<void(ObjectReader&)>& members) {
  return message_of<SpecError>([&] { Reader(kDocument, "f.json").object(members); });
}

TEST(Reader, HandsOutMembersByType) {
  EXPECT_EQ(reading([](ObjectReader& all) {
              EXPECT_EQ(all.required("name").string(), "x");
              EXPECT_EQ(all.required("count").integer(0, 3), 3);
              EXPECT_EQ(all.required("count").number(), 3);
              EXPECT_EQ(all.required("ratio").number(), 0.5);
              EXPECT_TRUE(all.required("flag").boolean());
              EXPECT_EQ(all.required("list").array().at(1).path(), "$.list[1]");
              EXPECT_FALSE(all.optional("absent"));
              all.required("files").object([](ObjectReader& files) {
                EXPECT_EQ(files.all().at(0).second.path(), "$.files[\"a.b\"]");
              });
              all.optional("blank");
            }),
            "");
}

TEST(Reader, RefusesOtherTypes) {
  const auto says = [](const std::function<void(ObjectReader&)>& members, const char* what) {
    EXPECT_EQ(reading(members), std::string("f.json: ") + what);
  };
  says([](auto& all) { all.required("name").number(); },
       "$.name: expected a number, found the string \"x\"");
  says([](auto& all) { all.required("ratio").integer(); },
       "$.ratio: expected an integer, found 0.5");
  says([](auto& all) { all.required("count").integer(4, 5); }, "$.count: 3 is not in [4, 5]");
  says([](auto& all) { all.required("count").boolean(); },
       "$.count: expected true or false, found 3");
  says([](auto& all) { all.required("list").string(); },
       "$.list: expected a string, found an array");
  says([](auto& all) { all.required("files").array(); },
       "$.files: expected an array, found an object");
  says([](auto& all) { all.required("list").object([](auto&) {}); },
       "$.list: expected an object, found an array");
  says([](auto& all) { all.required("blank").non_empty_string(); }, "$.blank: is empty");
  says(
      [](auto& all) {
        all.required("name").one_of({"y", "xy"});
      },
      "$.name: \"x\" is not known; did you mean \"y\"?");
}

TEST(Reader, RefusesEveryKeyNobodyAskedFor) {
  const auto one = [](const char* text, const char* asked) {
    const auto document = nlohmann::json::parse(text);
    return message_of<SpecError>([&] {
      Reader(document, "f.json").object([&](ObjectReader& all) { all.optional(asked); });
    });
  };
  EXPECT_EQ(one(R"({"tolerence": 1})", "tolerance"),
            "f.json: $.tolerence: unknown key; did you mean \"tolerance\"?");
  EXPECT_EQ(one(R"({"tolerence": [1]})", "tolerance"),
            "f.json: $.tolerence: unknown key; did you mean \"tolerance\"?");
  EXPECT_EQ(one(R"({"zzz": {"a": 1}})", "tolerance"),
            "f.json: $.zzz: unknown key; known: tolerance");
}

TEST(Reader, AMisspeltRequiredKeyIsNamedAsSuch) {
  const auto document = nlohmann::json::parse(R"({"tolerence": 1})");
  EXPECT_EQ(message_of<SpecError>([&] {
              Reader(document, "f").object([](ObjectReader& all) { all.required("tolerance"); });
            }),
            "f: $.tolerence: unknown key; did you mean \"tolerance\"?");
  EXPECT_EQ(message_of<SpecError>([&] {
              Reader(document, "f").object([](ObjectReader& all) { all.required("bound"); });
            }),
            "f: $: the key \"bound\" is missing");
}

TEST(NearestName, IsNearOrNothing) {
  EXPECT_EQ(nearest_name("devise", {"dtype", "device"}), "device");
  EXPECT_EQ(nearest_name("x", {"device"}), "");
  EXPECT_EQ(nearest_name("", {"device"}), "");
}

}  // namespace
}  // namespace octlm::verify
