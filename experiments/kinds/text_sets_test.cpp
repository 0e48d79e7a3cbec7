// What a rule makes is part of what a spec claims: it must be the same on every machine, for ever.
#include "experiments/kinds/text_sets.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "formats/sha256.h"
#include "formats/utf8.h"
#include "reference/request.h"

namespace octlm::experiments {
namespace {

std::vector<std::string> all_of(const TextSet& set) {
  std::vector<std::string> all;
  for_each_block(set, [&](std::span<const std::string> block) {
    all.insert(all.end(), block.begin(), block.end());
  });
  return all;
}

std::string digest(const std::vector<std::string>& texts) {
  formats::Sha256 hash;
  for (const std::string& text : texts) hash.update(text.data(), text.size() + 1);
  return hash.hex();
}

TEST(TextSets, AreWhatTheyWereWhenTheyWereNamed) {
  EXPECT_EQ(digest(all_of({.name = "code_points@1"})),
            "906531b115bd20771aa2b1d4c9242fc0c7030367f6de16f5c01a1a18844fdb42");
  EXPECT_EQ(digest(all_of({.name = "code_points_in_context@1"})),
            "84dacbd51a02950705c1097a8b4209c4679b841b3ca5167e77653fdcb97a455f");
  EXPECT_EQ(digest(all_of({.name = "long_words@1"})),
            "649ebdaaa2121cae2ecb8a9ba391086800895d43ab2c5a92e5a7786d819636f3");
  EXPECT_EQ(digest(all_of({.name = "random_texts@1", .count = 1000, .seed = 20260})),
            "c4967b4bdc0f847e5d1b6c443bc0856baa34ff880f0a1d06d2966f179e8be8d8");
}

TEST(TextSets, EveryCodePointUpToPlaneThreeIsThere) {
  const auto alone = all_of({.name = "code_points@1"});
  EXPECT_EQ(alone.size(), 0x40000U - 0x800U);
  EXPECT_EQ(alone.front(), std::string(1, '\0'));
  EXPECT_EQ(alone.back(), "\U0003ffff");
  EXPECT_EQ(std::set(alone.begin(), alone.end()).size(), alone.size());
  EXPECT_EQ(all_of({.name = "code_points_in_context@1"}).at(0xe9), "aéb é1é.éé\né");
}

TEST(TextSets, AreUtf8InBlocksOfABoundedSize) {
  for (const TextSet& set : {TextSet{"random_texts@1", 20000, 7}, TextSet{"long_words@1", 0, 0}}) {
    std::size_t largest = 0;
    for_each_block(set, [&](std::span<const std::string> block) {
      std::size_t bytes = 0;
      for (const std::string& text : block) {
        EXPECT_EQ(formats::find_invalid_utf8(text), std::string::npos);
        bytes += text.size();
      }
      largest = std::max(largest, bytes);
    });
    EXPECT_LE(largest, (2U << 20)) << set.name;
  }
}

TEST(TextSets, RandomTextsMeetControlStringsMarksAndDigits) {
  const auto texts = all_of({.name = "random_texts@1", .count = 2000, .seed = 1});
  for (const char* part :
       {"<|im_end|>", "<think>", "\u0301", "\u2028", "'ll", "日本語", "٣", "\r\n", "<repo_name>"}) {
    EXPECT_TRUE(std::ranges::any_of(texts, [&](const std::string& text) {
      return text.find(part) != std::string::npos;
    })) << part;
  }
  EXPECT_NE(texts, all_of({.name = "random_texts@1", .count = 2000, .seed = 2}));
}

TEST(IdSets, StayInTheirRange) {
  std::vector<TokenIds> lists;
  for_each_block(IdSet{"random_ids@1", 5000, 3, 10, 20}, [&](std::span<const TokenIds> block) {
    lists.insert(lists.end(), block.begin(), block.end());
  });
  ASSERT_EQ(lists.size(), 5000U);
  std::set<std::int32_t> seen;
  for (const TokenIds& ids : lists) seen.insert(ids.begin(), ids.end());
  EXPECT_EQ(*seen.begin(), 10);
  EXPECT_EQ(*seen.rbegin(), 19);
  EXPECT_EQ(seen.size(), 10U);
  EXPECT_EQ(reference::sha256_of_ids(lists.at(4999)),
            "3878e0d97ccf320be0e98eeaa88dccc6d989cb728f7f40d172a8f79d80fabaf9");
}

}  // namespace
}  // namespace octlm::experiments
