// Byte pair encoding: of all neighbours that a merge names, the one of lowest rank is merged first, the
// leftmost of equals first, until none is left.
//
// Definition: encode_by_definition, which looks for that pair anew each time. The fast ways give the same:
//   whole    a piece that is a token whose own encoding is itself (remembered once found out)
//   short    the definition on arrays, O(n^2) with n bounded
//   ranked   when a merge's parts are always made by merges of lower rank, as in every trained vocabulary,
//            ranks are worked off in ascending order, one list of places per rank: O(n log n), and nearly
//            linear, for the places of one rank lie in order
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
  // `merges` in order of rank, no pair twice, parts and results in `vocabulary`, which must outlive this.
  Bpe(const Vocabulary& vocabulary, const std::vector<Merge>& merges, bool ignore_merges);

  // A piece never becomes this token as a whole, not even with ignore_merges: it is a control token, and
  // ordinary text must not turn into one. Before the first encode.
  void never_whole(TokenId id);

  // Reused from piece to piece; one per thread.
  struct Scratch {
    std::vector<TokenId> symbols;
    std::vector<std::int32_t> ranks;
    std::vector<std::uint32_t> previous, next;
    std::vector<std::uint64_t> heap;
    // ranked
    std::vector<std::uint32_t> first_of_rank;  // [merges] index into places, or kEnd
    std::vector<std::uint32_t> chained;        // [places] the next of the same rank
    std::vector<std::uint32_t> place;          // [places]
    std::vector<std::uint64_t> waiting, waiting_words;  // bit sets: ranks with places, words of `waiting` with bits
    std::vector<std::uint32_t> now;
  };

  // Appends the tokens of a piece. A byte that no token spells is left out, as Hugging Face does; its value
  // is returned (the first such), or -1.
  int encode(std::string_view piece, Scratch& scratch, std::vector<TokenId>& ids) const;
  int encode_by_definition(std::string_view piece, std::vector<TokenId>& ids) const;
  // For tests: by the named way, whatever the length. `ranked` REQUIRES has_ordered_ranks().
  int encode_by_heap(std::string_view piece, Scratch& scratch, std::vector<TokenId>& ids) const;
  int encode_by_rank(std::string_view piece, Scratch& scratch, std::vector<TokenId>& ids) const;
  int encode_short(std::string_view piece, Scratch& scratch, std::vector<TokenId>& ids) const;

  bool has_ordered_ranks() const { return ordered_; }
  // Is there a token for this byte?
  bool expresses(std::uint8_t byte) const { return byte_token_[byte] != kNoToken; }

 private:
  struct Pair {
    std::uint64_t key = kNoKey;
    std::int32_t rank = 0;
    TokenId result = kNoToken;
  };
  static constexpr std::uint64_t kNoKey = ~std::uint64_t{0};
  static constexpr std::int32_t kNoRank = 0x7fffffff;
  static constexpr std::uint32_t kEnd = 0xffffffff;
  enum WholeState : std::uint8_t { kUnknown, kIsItself, kIsNot, kNever };

  const Pair* find_pair(TokenId left, TokenId right) const;
  std::int32_t rank_of(TokenId left, TokenId right) const;
  int load_symbols(std::string_view piece, std::vector<TokenId>& symbols) const;
  void link(Scratch& scratch) const;
  void push_place(std::uint32_t place, std::int32_t rank, Scratch& scratch) const;
  // Merges the pair at `place` and returns the place after it.
  void unite(std::uint32_t place, const Pair& pair, Scratch& scratch) const;
  void collect(const Scratch& scratch, std::vector<TokenId>& ids) const;
  bool may_stand_whole(TokenId id, std::string_view piece, Scratch& scratch) const;

  const Vocabulary& vocabulary_;
  bool ignore_merges_;
  bool ordered_ = true;
  std::size_t merges_ = 0;
  std::array<TokenId, 256> byte_token_{};
  std::vector<Pair> pairs_;  // open addressing, a power of two, at most half full
  std::size_t mask_ = 0;
  mutable std::unique_ptr<std::atomic<std::uint8_t>[]> whole_;  // [id_end] WholeState
};

}  // namespace octlm::model
