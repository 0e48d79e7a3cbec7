#include "formats/strict_json.h"

#include <gmock/gmock.h>

#include "formats/error.h"
#include "formats/testing/message_of.h"

namespace octlm::formats {
namespace {

using ::testing::HasSubstr;
using testing::message_of;
using ::testing::StartsWith;

std::string refusal(std::string_view text) {
  return message_of<FormatError>([&] { parse_strict(text, "f.json"); });
}

TEST(ParseStrict, KeepsWhatIsThere) {
  EXPECT_EQ(parse_strict(R"( {"a": [1, -2.5e-3, true, null, "é\u0000\ud83d\ude42"]} )", "f.json"),
            nlohmann::json::parse(R"({"a": [1, -2.5e-3, true, null, "é\u0000🙂"]})"));
  EXPECT_TRUE(parse_strict("9007199254740992", "f").is_number_integer());
  EXPECT_EQ(parse_strict("-0.0", "f").get<double>(), 0);
}

TEST(ParseStrict, RefusesDuplicateKeysWithThePlace) {
  EXPECT_THAT(refusal("{\"a\": 1,\n \"a\": 2}"), StartsWith("f.json:2:4: duplicate key 'a'"));
  EXPECT_THAT(refusal(R"({"b": [{"a": 1, "a": 1}]})"), HasSubstr("duplicate key"));
  EXPECT_THAT(refusal(R"({"a": 1, "\u0061": 2})"), HasSubstr("duplicate key"));
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
  EXPECT_THAT(refusal("{\"a\":\n\"\xff\"}"), StartsWith("f.json:2:2: not JSON: not UTF-8"));
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
  EXPECT_THAT(refusal("{\"a\":" + std::string(64, '[')), HasSubstr("nested deeper"));
  EXPECT_THAT(refusal(std::string(1000000, '[')), HasSubstr("nested deeper"));
}

TEST(ReadStrict, NamesTheFile) {
  EXPECT_THAT(message_of<FormatError>([] { read_strict("/nonexistent/x.json"); }),
              HasSubstr("/nonexistent/x.json: cannot be opened: No such file"));
  EXPECT_THAT(message_of<FormatError>([] { read_strict("/tmp"); }),
              HasSubstr("/tmp: not a regular file"));
}

TEST(ParseStrict, RefusesWhatTheParserWouldSkip) {
  using namespace std::string_literals;
  EXPECT_THAT(refusal("{}\0{}"s), StartsWith("f.json:1:3: not JSON: it contains a NUL byte"));
  EXPECT_THAT(refusal("\0"s), HasSubstr("NUL"));
}

TEST(ParseStrict, KeepsToItsLimits) {
  const auto refusal_within = [](const char* text, const JsonLimits& limits) {
    return message_of<FormatError>([&] { parse_strict(text, "f", limits); });
  };
  EXPECT_EQ(refusal_within("[1, 2]", {.values = 3}), "");
  EXPECT_THAT(refusal_within("[1, 2]", {.values = 2}), HasSubstr("more than 2 values"));
  EXPECT_EQ(refusal_within("[18446744073709551615, -9223372036854775808]", kIntegersOf64Bits), "");
  EXPECT_THAT(refusal_within("18446744073709551616", kIntegersOf64Bits), HasSubstr("64 bits"));
  EXPECT_THAT(refusal_within("-9223372036854775809", kIntegersOf64Bits), HasSubstr("64 bits"));
}

TEST(ParseStrict, OneLineWhateverTheTextHolds) {
  const std::string message = refusal("{\"a\n\x1b[2J" + std::string(10'000, 'b'));
  EXPECT_THAT(message, ::testing::Not(HasSubstr("\n")));
  EXPECT_LT(message.size(), 500u);
}

TEST(ParseStrictOrdered, KeepsTheOrderAndRefusesTheSame) {
  const auto parsed = parse_strict_ordered(R"({"b": {"z": 1, "a": [{}]}, "a": 2})", "f");
  EXPECT_EQ(parsed.dump(), R"({"b":{"z":1,"a":[{}]},"a":2})");
  const auto refusal_of = [](const std::string& text) {
    return message_of<FormatError>([&] { parse_strict_ordered(text, "f"); });
  };
  EXPECT_THAT(refusal_of(R"({"a": [{"b": 1}, {"b": 1, "c": {}, "b": 2}]})"),
              HasSubstr("duplicate key 'b'"));
  EXPECT_EQ(refusal_of(R"({"a": {"a": 1}, "b": {"a": 1}})"), "");
  EXPECT_THAT(refusal_of(std::string(1000000, '[')), HasSubstr("nested deeper"));
}

TEST(ParseStrictOrdered, KeepsTheDigitsOfGreaterIntegersWhereAsked) {
  const JsonLimits limits{
      .least_integer = INT64_MIN, .greatest_integer = INT64_MAX, .digits_beyond = true};
  const auto read = parse_strict_ordered(
      "[9223372036854775807, 9223372036854775808, -9223372036854775809, 123456789012345678901]",
      "w", limits);
  EXPECT_EQ(read[0], INT64_MAX);
  const auto digits = [&](std::size_t i) {
    return std::string(read[i].get_binary().begin(), read[i].get_binary().end());
  };
  EXPECT_EQ(digits(1), "9223372036854775808");
  EXPECT_EQ(digits(2), "-9223372036854775809");
  EXPECT_EQ(digits(3), "123456789012345678901");
  EXPECT_THROW(parse_strict_ordered("[1e400]", "w", limits), FormatError);
  EXPECT_THROW(parse_strict_ordered("[" + std::string(400, '1') + "]", "w", limits), FormatError);
}

TEST(ParseOrDiscard, DiscardsWhatIsRefused) {
  EXPECT_EQ(parse_or_discard("[1e3]"), nlohmann::json({1e3}));
  for (const std::string& text : {std::string("{"), std::string("1e999"), std::string("\"\xff\""),
                                  std::string(R"({"a":1,"a":1})"), std::string(1000000, '[')}) {
    EXPECT_TRUE(parse_or_discard(text).is_discarded()) << text.substr(0, 20);
  }
}

}  // namespace
}  // namespace octlm::formats
