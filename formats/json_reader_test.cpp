#include "formats/json_reader.h"

#include <gmock/gmock.h>

#include <functional>

#include "formats/nearest_name.h"
#include "formats/testing/message_of.h"

namespace octlm::formats {
namespace {

using testing::message_of;

const nlohmann::json kDocument = nlohmann::json::parse(
    R"({"name": "x", "count": 3, "ratio": 0.5, "flag": true, "list": [1, {"deep": 1}],
        "files": {"a.b": "h"}, "blank": " "})");

std::string reading(const std::function<void(ObjectReader&)>& members) {
  return message_of<FormatError>([&] { Reader(kDocument, "f.json").object(members); });
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
    return message_of<FormatError>([&] {
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
  EXPECT_EQ(message_of<FormatError>([&] {
              Reader(document, "f").object([](ObjectReader& all) { all.required("tolerance"); });
            }),
            "f: $.tolerence: unknown key; did you mean \"tolerance\"?");
  EXPECT_EQ(message_of<FormatError>([&] {
              Reader(document, "f").object([](ObjectReader& all) { all.required("bound"); });
            }),
            "f: $: the key \"bound\" is missing");
}

TEST(Reader, SaysAllThatIsWrongAtOnce) {
  const auto document = nlohmann::json::parse(
      R"({"a": "x", "here": {"d": 1, "e": 2}, "list": [1, "two", 3, "four"], "zz": 0})");
  const auto said = message_of<FormatError>([&] {
    Reader(document, "f").object([](ObjectReader& all) {
      all.required("a", [](const Reader& value) { (void)value.number(); });
      all.required("absent", [](const Reader&) {});
      all.optional("here", [](const Reader& value) {
        value.object([](ObjectReader& inner) { inner.optional("d"); });
      });
      all.optional("list", [](const Reader& list) {
        list.each([](const Reader& element) { (void)element.number(); });
      });
    });
  });
  EXPECT_EQ(said,
            "f: $.a: expected a number, found the string \"x\"\n"
            "f: $: the key \"absent\" is missing\n"
            "f: $.here.e: unknown key; did you mean \"d\"?\n"
            "f: $.list[1]: expected a number, found the string \"two\"\n"
            "f: $.list[3]: expected a number, found the string \"four\"\n"
            "f: $.zz: unknown key; known: a, absent, here, list");
}

// A finding is one whatever it quotes, and said once.
TEST(Findings, AreKeptApart) {
  Findings findings;
  findings.collect([] { throw FormatError("f: $.a: the string \"x\ny\""); });
  findings.add("f: $.b");
  findings.add("f: $.b");
  try {
    findings.raise();
    FAIL();
  } catch (const FormatError& error) {
    EXPECT_THAT(error.findings(), ::testing::ElementsAre("f: $.a: the string \"x\ny\"", "f: $.b"));
  }
}

TEST(NearestName, IsNearOrNothing) {
  EXPECT_EQ(nearest_name("devise", {"dtype", "device"}), "device");
  EXPECT_EQ(nearest_name("x", {"device"}), "");
  EXPECT_EQ(nearest_name("", {"device"}), "");
  EXPECT_EQ(nearest_name(std::string(101, 'x'), {std::string(100, 'x')}), "");
}

}  // namespace
}  // namespace octlm::formats
