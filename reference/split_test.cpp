#include "reference/split.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <stdexcept>

namespace octlm::reference {
namespace {

using Calls = std::vector<ForwardCall>;
using ::testing::HasSubstr;

TEST(Split, FullIsOneCall) {
  EXPECT_EQ(Split::full().calls(1), (Calls{{0, 1}}));
  EXPECT_EQ(Split::parse("full").calls(200), (Calls{{0, 200}}));
}

TEST(Split, HalfSplitsInTwoAndHasNothingToDoForOne) {
  const Split path = Split::parse("cached:half");
  EXPECT_EQ(path.calls(1), std::nullopt);
  EXPECT_EQ(path.calls(2), (Calls{{0, 1}, {1, 1}}));
  EXPECT_EQ(path.calls(3), (Calls{{0, 1}, {1, 2}}));
  EXPECT_EQ(path.calls(10), (Calls{{0, 5}, {5, 5}}));
  EXPECT_EQ(path.calls(11), (Calls{{0, 5}, {5, 6}}));
}

TEST(Split, EveryIsOnePositionACall) {
  const Split path = Split::parse("cached:every");
  EXPECT_EQ(path.calls(1), (Calls{{0, 1}}));
  EXPECT_EQ(path.calls(3), (Calls{{0, 1}, {1, 1}, {2, 1}}));
}

// The split on which wrong cache offsets show: the last chunk is shorter than the others.
TEST(Split, ChunksAreShorterAtTheEnd) {
  const Split path = Split::parse("chunked:4");
  EXPECT_EQ(path.calls(10), (Calls{{0, 4}, {4, 4}, {8, 2}}));
  EXPECT_EQ(path.calls(8), (Calls{{0, 4}, {4, 4}}));
  EXPECT_EQ(path.calls(3), (Calls{{0, 3}}));
}

TEST(Split, AChunkLargerThanAnySequenceIsOneCall) {
  EXPECT_EQ(Split::parse("chunked:9223372036854775807").calls(10), (Calls{{0, 10}}));
}

TEST(Split, EveryPathCoversEveryPositionOnce) {
  for (const char* text : {"full", "cached:half", "cached:every", "chunked:1", "chunked:7"}) {
    for (std::int64_t n = 2; n <= 65; ++n) {
      std::int64_t next = 0;
      const auto calls = Split::parse(text).calls(n);
      ASSERT_TRUE(calls) << text << " n=" << n;
      for (const ForwardCall& call : *calls) {
        EXPECT_EQ(call.first_position, next) << text << " n=" << n;
        EXPECT_GT(call.positions, 0) << text << " n=" << n;
        next += call.positions;
      }
      EXPECT_EQ(next, n) << text;
    }
  }
}

TEST(Split, KeepsItsText) { EXPECT_EQ(Split::parse("chunked:7").text(), "chunked:7"); }

TEST(Split, RefusesOtherTextsAndListsTheForms) {
  for (const char* text : {"", "chunked", "chunked:", "chunked:0", "chunked:-1", "chunked:07",
                           "chunked:7 ", "chunked:+7", "Chunked:7", "chunked:9223372036854775808",
                           "cached", "cached:", "cached:third", "Full", " full"}) {
    try {
      Split::parse(text);
      ADD_FAILURE() << "accepted \"" << text << '"';
    } catch (const std::invalid_argument& error) {
      EXPECT_THAT(error.what(), HasSubstr("\"" + std::string(text) + "\""));
      EXPECT_THAT(error.what(), HasSubstr("full, cached:half, cached:every, chunked:N"));
    }
  }
}

}  // namespace
}  // namespace octlm::reference
