// Byte pair encoding: of all neighbours that a merge names, the one of lowest rank is merged first,
// the leftmost of equals first, until none is left.
//
// Definition: encode_by_definition, which looks for that pair anew each time. The fast ways give
// the same:
//   whole    a piece that is a token whose own encoding is itself (remembered once found out)
//   short    the definition on arrays, O(n^2) with n bounded
//   ranked   when a merge's parts are always made by merges of lower rank, as in every trained
//            vocabulary: ranks are worked off in ascending order, one list of places per rank,
//            O(n log n), and nearly linear, for the places of one rank lie in order
//   heap     otherwise: a heap of (rank, place), O(n log n)
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "model/tokenizer/vocabulary.h"

namespace octlm::model {

struct Merge {
  TokenId left = kNoToken;
  TokenId right = kNoToken;
  TokenId result = kNoToken;
};

class Bpe {
 public:
  // `merges` in order of rank, no pair twice, parts and results in `vocabulary`, which must outlive
  // this.
  Bpe(const Vocabulary& vocabulary, std::vector<Merge> merges, bool ignore_merges);

  // A piece never becomes this token as a whole, not even with ignore_merges: it is a control
  // token, and ordinary text must not turn into one. Before the first encode.
  void never_whole(TokenId id);

  // A symbol in the list that a piece is while it is merged: a merged pair lives on at the place of
  // its left part, the right part's symbol becomes kNoToken.
  struct Node {
    TokenId symbol = kNoToken;
    std::uint32_t previous = 0;
    std::uint32_t next = 0;
  };
  struct WaitingPlace {
    std::uint32_t place = 0;
    std::uint32_t chained = 0;  // the next one of the same rank
  };
  // Reused from piece to piece; one per thread.
  struct Scratch {
    std::vector<TokenId> symbols;
    std::vector<Node> nodes;
    std::vector<std::uint64_t> heap;
    // ranked
    std::vector<std::uint32_t> first_of_rank;  // [merges] index into waiting places, or kEnd
    std::vector<WaitingPlace> places;
    // Bit sets: ranks with places, words of `waiting` with bits.
    std::vector<std::uint64_t> waiting, waiting_words;
    std::vector<std::uint32_t> now;
  };

  // Appends the tokens of a piece. A byte that no token spells is left out, as Hugging Face does;
  // its value is returned (the first such), or -1.
  int encode(std::string_view piece, Scratch& scratch, std::vector<TokenId>& ids) const;
  int encode_by_definition(std::string_view piece, std::vector<TokenId>& ids) const;
  // For tests: by the named way, whatever the length. `ranked` REQUIRES has_ordered_ranks().
  int encode_by_heap(std::string_view piece, Scratch& scratch, std::vector<TokenId>& ids) const;
  int encode_by_rank(std::string_view piece, Scratch& scratch, std::vector<TokenId>& ids) const;
  int encode_short(std::string_view piece, Scratch& scratch, std::vector<TokenId>& ids) const;

  const std::vector<Merge>& merges() const { return merges_; }
  bool has_ordered_ranks() const { return ordered_; }
  // Is there a token for this byte?
  bool expresses(std::uint8_t byte) const { return byte_token_[byte] != kNoToken; }

 private:
  struct Pair {
    std::uint64_t key = kNoKey;
    std::int32_t rank = 0;
  };
  static constexpr std::uint64_t kNoKey = ~std::uint64_t{0};
  static constexpr std::int32_t kNoRank = 0x7fffffff;
  static constexpr std::uint32_t kEnd = 0xffffffff;
  enum WholeState : std::uint8_t { kUnknown, kIsItself, kIsNot, kNever };

  std::int32_t rank_of(TokenId left, TokenId right) const;  // or kNoRank
  int load_symbols(std::string_view piece, std::vector<TokenId>& symbols) const;
  int load_nodes(std::string_view piece, Scratch& scratch) const;
  // REQUIRES: a next symbol.
  std::int32_t rank_at(std::uint32_t place, const Scratch& scratch) const;
  void push_place(std::uint32_t place, std::int32_t rank, Scratch& scratch) const;
  bool pop_rank(std::size_t& word_of_words, std::int32_t& rank, Scratch& scratch) const;
  // Does the symbol at `place`, with its next, still make up the pair of this merge?
  static bool is_pair(std::uint32_t place, const Merge& merge, const Scratch& scratch);
  static void unite(std::uint32_t place, const Merge& merge, Scratch& scratch);
  void collect(const Scratch& scratch, std::vector<TokenId>& ids) const;
  bool may_stand_whole(TokenId id, std::string_view piece, Scratch& scratch) const;

  const Vocabulary& vocabulary_;
  bool ignore_merges_;
  bool ordered_ = true;
  std::vector<Merge> merges_;  // [rank]
  std::array<TokenId, 256> byte_token_{};
  std::vector<Pair> pairs_;  // open addressing, a power of two, at most half full
  std::size_t mask_ = 0;
  // A bit for every pair there is, by its hash: most pairs that are asked for do not exist, and
  // this is small enough to stay in the cache.
  std::vector<std::uint64_t> filter_;
  std::size_t filter_mask_ = 0;
  mutable std::unique_ptr<std::atomic<std::uint8_t>[]> whole_;  // [id_end] WholeState
};

}  // namespace octlm::model
