#include "model/tokenizer/bpe.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <random>
#include <string>
#include <unordered_set>

namespace octlm::model {
namespace {

struct Trained {
  Vocabulary vocabulary{512};
  std::vector<Merge> merges;
};

// Byte tokens and random merges among a few letters; `ordered`: a merge uses only what earlier ones
// made.
Trained random_merges(std::mt19937& draw, int count, bool ordered) {
  Trained out;
  std::vector<std::string> tokens;
  for (int byte = 0; byte < 256; ++byte) {
    out.vocabulary.add(byte_symbol(static_cast<std::uint8_t>(byte)), byte);
    if (byte >= 'a' && byte <= 'd') tokens.push_back(std::string(1, static_cast<char>(byte)));
  }
  std::unordered_set<std::string> pairs;
  for (int i = 0; i < 10 * count && static_cast<int>(out.merges.size()) < count; ++i) {
    const std::string left = tokens[draw() % tokens.size()], right = tokens[draw() % tokens.size()];
    if ((left + right).size() > 12 || !pairs.insert(left + " " + right).second) continue;
    TokenId result = out.vocabulary.find(left + right);
    if (result == kNoToken) {
      result = out.vocabulary.id_end();
      out.vocabulary.add(left + right, result);
      tokens.push_back(left + right);
    } else if (ordered) {
      continue;
    }
    out.merges.push_back({out.vocabulary.find(left), out.vocabulary.find(right), result});
  }
  if (!ordered) std::shuffle(out.merges.begin(), out.merges.end(), draw);
  return out;
}

TEST(Bpe, EveryWayGivesWhatTheDefinitionGives) {
  const unsigned seed = 7;
  SCOPED_TRACE(seed);
  std::mt19937 draw(seed);
  int compared = 0;
  for (int round = 0; round < 60; ++round) {
    const bool ordered = round % 2 == 0;
    const Trained trained = random_merges(draw, 5 + static_cast<int>(draw() % 60), ordered);
    const Bpe bpe(trained.vocabulary, trained.merges, false);
    ASSERT_TRUE(!ordered || bpe.has_ordered_ranks());
    Bpe::Scratch scratch;
    for (int i = 0; i < 60; ++i) {
      std::string piece(1 + draw() % 96, ' ');
      for (char& c : piece) c = static_cast<char>('a' + draw() % (i % 3 == 0 ? 2 : 4));
      std::vector<TokenId> definition, quick, by_heap, by_short, by_rank;
      bpe.encode_by_definition(piece, definition);
      bpe.encode(piece, scratch, quick);
      bpe.encode_by_heap(piece, scratch, by_heap);
      bpe.encode_short(piece, scratch, by_short);
      ASSERT_EQ(quick, definition) << piece;
      ASSERT_EQ(by_heap, definition) << piece;
      ASSERT_EQ(by_short, definition) << piece;
      if (bpe.has_ordered_ranks()) {
        bpe.encode_by_rank(piece, scratch, by_rank);
        ASSERT_EQ(by_rank, definition) << piece;
      }
      ++compared;
    }
  }
  EXPECT_EQ(compared, 3600);
}

// ztxz16/fastllm#715: by rank, not from left to right.
TEST(Bpe, MergesTheLowestRankFirst) {
  Trained t;
  for (const char* token : {"a", "b", "c", "bc", "ab"})
    t.vocabulary.add(token, t.vocabulary.id_end());
  t.merges = {{1, 2, 3}, {0, 1, 4}};
  const Bpe bpe(t.vocabulary, t.merges, false);
  Bpe::Scratch scratch;
  std::vector<TokenId> ids;
  EXPECT_EQ(bpe.encode("abc", scratch, ids), -1);
  EXPECT_EQ(ids, (std::vector<TokenId>{0, 3}));
}

TEST(Bpe, OfEqualRanksTheLeftmostFirst) {
  Trained t;
  for (const char* token : {"a", "aa", "b"}) t.vocabulary.add(token, t.vocabulary.id_end());
  t.merges = {{0, 0, 1}};
  const Bpe bpe(t.vocabulary, t.merges, false);
  Bpe::Scratch scratch;
  for (const std::size_t n : {std::size_t{3}, std::size_t{101}}) {
    std::vector<TokenId> ids;
    bpe.encode(std::string(n, 'a'), scratch, ids);
    ASSERT_EQ(ids.size(), n / 2 + 1);
    EXPECT_EQ(ids.back(), 0);
  }
}

TEST(Bpe, NamesTheFirstByteWithoutAToken) {
  Trained t;
  for (const char* token : {"a", "b", "ab"}) t.vocabulary.add(token, t.vocabulary.id_end());
  t.merges = {{0, 1, 2}};
  const Bpe bpe(t.vocabulary, t.merges, false);
  Bpe::Scratch scratch;
  std::vector<TokenId> ids;
  EXPECT_EQ(bpe.encode("axb", scratch, ids), 'x');
  EXPECT_EQ(ids, std::vector<TokenId>{2}) << "what stands around a byte that is left out may merge";
}

// openai/tiktoken#195, huggingface/tokenizers#1449: time per byte must not grow with the piece.
TEST(Bpe, LongPiecesTakeLinearTime) {
  std::mt19937 draw(3);
  for (const bool ordered : {true, false}) {
    const Trained t = random_merges(draw, 80, ordered);
    const Bpe bpe(t.vocabulary, t.merges, false);
    const auto seconds = [&](std::size_t size) {
      std::string piece(size, 'a');
      for (std::size_t i = 0; i < size; i += 3) piece[i] = static_cast<char>('a' + draw() % 4);
      double best = 1e9;
      for (int i = 0; i < 3; ++i) {
        Bpe::Scratch scratch;
        std::vector<TokenId> ids;
        timespec begin{}, end{};
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
        bpe.encode(piece, scratch, ids);
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
        best = std::min(best, static_cast<double>(end.tv_sec - begin.tv_sec) +
                                  static_cast<double>(end.tv_nsec - begin.tv_nsec) * 1e-9);
      }
      return best;
    };
    const double small = seconds(64 << 10), large = seconds(1 << 20);
    EXPECT_LT(large, small * 16 * 4) << "quadratic would be 256 times";
    EXPECT_LT(large, 10.0);
  }
}

}  // namespace
}  // namespace octlm::model
