// The vectors are those of RFC 8785: section 3.2.2 and 3.2.3, and appendix B.
#include "formats/canonical_json.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <random>

#include "formats/sha256.h"
#include "formats/testing/temporary_folder.h"

namespace octlm::formats {
namespace {

std::string canonical(const char* text) { return canonical_json(nlohmann::json::parse(text)); }

TEST(CanonicalJson, TheExampleOfTheStandard) {
  EXPECT_EQ(canonical(R"({
      "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
      "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
      "literals": [null, true, false]
    })"),
            "{\"literals\":[null,true,false],\"numbers\":[333333333.3333333,1e+30,4.5,0.002,1e-27],"
            "\"string\":\"€$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"}");
}

// By UTF-16 code units the emoji (surrogates D83D DE02) stands before U+FB33; by bytes it does not.
TEST(CanonicalJson, SortsKeysByUtf16CodeUnits) {
  EXPECT_EQ(canonical(
                R"({"\u20ac": "Euro Sign", "\r": "Carriage Return",
                          "\ufb33": "Hebrew Letter Dalet With Dagesh",
                          "1": "One", "\ud83d\ude00": "Emoji: Grinning Face", "\u0080": "Control",
                          "\u00f6": "Latin Small Letter O With Diaeresis"})"),
            "{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\xC2\x80\":\"Control\","
            "\"ö\":\"Latin Small Letter O With Diaeresis\",\"€\":\"Euro Sign\","
            "\"😀\":\"Emoji: Grinning Face\",\"\xEF\xAC\xB3\":\"Hebrew Letter Dalet With Dagesh\"}");
}

TEST(CanonicalJson, NumbersOfAppendixB) {
  const std::pair<std::uint64_t, const char*> vectors[] = {
      {0x0000000000000000, "0"},
      {0x8000000000000000, "0"},
      {0x0000000000000001, "5e-324"},
      {0x8000000000000001, "-5e-324"},
      {0x7fefffffffffffff, "1.7976931348623157e+308"},
      {0xffefffffffffffff, "-1.7976931348623157e+308"},
      {0x4340000000000000, "9007199254740992"},
      {0xc340000000000000, "-9007199254740992"},
      {0x4430000000000000, "295147905179352830000"},
      {0x44b52d02c7e14af5, "9.999999999999997e+22"},
      {0x44b52d02c7e14af6, "1e+23"},
      {0x44b52d02c7e14af7, "1.0000000000000001e+23"},
      {0x444b1ae4d6e2ef4e, "999999999999999700000"},
      {0x444b1ae4d6e2ef4f, "999999999999999900000"},
      {0x444b1ae4d6e2ef50, "1e+21"},
      {0x3eb0c6f7a0b5ed8c, "9.999999999999997e-7"},
      {0x3eb0c6f7a0b5ed8d, "0.000001"},
      {0x41b3de4355555553, "333333333.3333332"},
      {0x41b3de4355555554, "333333333.33333325"},
      {0x41b3de4355555555, "333333333.3333333"},
      {0x41b3de4355555556, "333333333.3333334"},
      {0x41b3de4355555557, "333333333.33333343"},
      {0xbecbf647612f3696, "-0.0000033333333333333333"},
      {0x43143ff3c1cb0959, "1424953923781206.2"},
  };
  for (const auto& [bits, text] : vectors) {
    EXPECT_EQ(ecmascript_number(std::bit_cast<double>(bits)), text) << std::hex << bits;
  }
}

TEST(CanonicalJson, NumbersReadBackAsThemselves) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 100000; ++i) {
    const double value = std::bit_cast<double>(random());
    if (!std::isfinite(value)) continue;
    ASSERT_EQ(std::strtod(ecmascript_number(value).c_str(), nullptr), value);
  }
}

TEST(CanonicalJson, OneTextForOneValue) {
  EXPECT_EQ(canonical(R"({"b":1.0,"a":1e-3})"), canonical(R"( {"a": 0.001, "b": 1} )"));
  EXPECT_EQ(canonical("[1e21, 100]"), "[1e+21,100]");
  EXPECT_NE(canonical("\"e\\u0301\""), canonical("\"\\u00e9\""));  // no normalisation
}

TEST(CanonicalJson, RefusesWhatTheSchemeCannotHold) {
  EXPECT_THROW(canonical_json(std::numeric_limits<double>::infinity()), std::invalid_argument);
  EXPECT_THROW(canonical_json(std::numeric_limits<double>::quiet_NaN()), std::invalid_argument);
  EXPECT_EQ(canonical_json(std::int64_t{1} << 53), "9007199254740992");
  EXPECT_THROW(canonical_json(9007199254740993), std::invalid_argument);
  EXPECT_THROW(canonical_json(-9007199254740993), std::invalid_argument);
  EXPECT_THROW(canonical_json(std::uint64_t{9007199254740993}), std::invalid_argument);
  EXPECT_THROW(canonical_json("\xff"), std::invalid_argument);
  EXPECT_THROW(canonical_json({{"\xff", 1}}), std::invalid_argument);
}

// FIPS 180-2, appendix B.
TEST(Sha256, KnownDigests) {
  EXPECT_EQ(sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256(std::string(1000000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, OfAFileAsOfItsBytes) {
  const testing::TemporaryFolder folder;
  const std::string bytes = std::string((1 << 20) + 7, 'x') + std::string(1, '\0');
  std::ofstream(folder.path() / "f", std::ios::binary) << bytes;
  EXPECT_EQ(sha256_file(folder.path() / "f"), sha256(bytes));
  EXPECT_THROW(sha256_file(folder.path() / "absent"), std::runtime_error);
  EXPECT_THROW(sha256_file(folder.path()), std::runtime_error);
}

}  // namespace
}  // namespace octlm::formats
