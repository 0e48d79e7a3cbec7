#include "model/tokenizer/stop_matcher.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace octlm::model {
namespace {

struct Outcome {
  std::string text;
  std::string matched;
  friend bool operator==(const Outcome&, const Outcome&) = default;
};

Outcome in_pieces(std::vector<std::string> stops, const std::vector<std::string>& pieces) {
  StopMatcher matcher(std::move(stops));
  Outcome out;
  for (const std::string& piece : pieces) {
    out.text += matcher.push(piece);
    if (matcher.stopped()) return {out.text, matcher.matched()};
  }
  out.text += matcher.finish();
  return out;
}

// vllm-project/vllm#3672, mzau/mlx-knife#68
TEST(StopMatcher, FindsAStopStringThatStraddlesPieces) {
  const Outcome want{"alpha ", "beta gamma"};
  EXPECT_EQ(in_pieces({"beta gamma"}, {"alpha beta gamma delta"}), want);
  EXPECT_EQ(in_pieces({"beta gamma"}, {"alpha be", "ta ga", "mma delta"}), want);
  EXPECT_EQ(in_pieces({"beta gamma"}, {"alpha beta", " gamma"}), want);
}

TEST(StopMatcher, CutsExactlyBeforeAStopInsideAPiece) {
  EXPECT_EQ(in_pieces({"."}, {"wait", "..."}), (Outcome{"wait", "."}));
  EXPECT_EQ(in_pieces({"\n\n"}, {"a\n", "b\n\nc"}), (Outcome{"a\nb", "\n\n"}));
}

TEST(StopMatcher, HoldsBackOnlyWhatMayBecomeAStop) {
  StopMatcher matcher({"END"});
  EXPECT_EQ(matcher.push("the E"), "the ");
  EXPECT_EQ(matcher.push("N"), "");
  EXPECT_EQ(matcher.push("E"), "EN");
  EXPECT_EQ(matcher.finish(), "E");
}

TEST(StopMatcher, SeesAStopThatBeginsWithinAFailedOne) {
  EXPECT_EQ(in_pieces({"aab"}, {"a", "a", "a", "b"}), (Outcome{"a", "aab"}));
  EXPECT_EQ(in_pieces({"abcd", "bc"}, {"ab", "cd"}), (Outcome{"a", "bc"}));
}

TEST(StopMatcher, RefusesAnEmptyString) {
  EXPECT_THROW(StopMatcher({"a", ""}), std::invalid_argument);
}

TEST(StopMatcher, HowTheTextIsCutChangesNothing) {
  std::mt19937 draw(11);
  for (int round = 0; round < 3000; ++round) {
    const auto text_of = [&](std::size_t size) {
      std::string text(size, 'a');
      for (char& c : text) c = static_cast<char>('a' + draw() % 3);
      return text;
    };
    std::vector<std::string> stops(1 + draw() % 3);
    for (std::string& stop : stops) stop = text_of(1 + draw() % 5);
    const std::string text = text_of(draw() % 30);
    // The definition: the stop string that is complete first, the longest of those.
    Outcome want{text, ""};
    for (std::size_t end = 1; end <= text.size() && want.matched.empty(); ++end) {
      for (const std::string& stop : stops) {
        if (text.substr(0, end).ends_with(stop) && stop.size() > want.matched.size()) {
          want = {text.substr(0, end - stop.size()), stop};
        }
      }
    }
    std::vector<std::string> pieces;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t size = std::min<std::size_t>(1 + draw() % 4, text.size() - at);
      pieces.push_back(text.substr(at, size));
      at += size;
    }
    ASSERT_EQ(in_pieces(stops, pieces), want) << text;
  }
}

}  // namespace
}  // namespace octlm::model
