#include "model/tokenizer/bpe.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <string>

namespace octlm::model {
namespace {

constexpr std::size_t kShort = 96;  // bytes up to which the O(n^2) way is the fastest (measured)
constexpr std::size_t kMostShortMerges = std::size_t{1}
                                         << 24;  // their ranks and a place fit into 31 bits

std::uint64_t key_of(TokenId left, TokenId right) {
  return std::uint64_t{static_cast<std::uint32_t>(left)} << 32 | static_cast<std::uint32_t>(right);
}

std::size_t hash_key(std::uint64_t key) {
  key *= 0x9e3779b97f4a7c15u;
  return static_cast<std::size_t>(key ^ key >> 29);
}

// Is every part of a merge made only by merges of lower rank?
bool ranks_are_ordered(const std::vector<Merge>& merges, TokenId id_end) {
  std::vector<std::int32_t> last_made(static_cast<std::size_t>(id_end), -1);
  const auto made = [&](TokenId id) -> std::int32_t& {
    return last_made[static_cast<std::size_t>(id)];
  };
  for (std::size_t rank = 0; rank < merges.size(); ++rank) {
    made(merges[rank].result) = static_cast<std::int32_t>(rank);
  }
  for (std::size_t rank = 0; rank < merges.size(); ++rank) {
    const auto own = static_cast<std::int32_t>(rank);
    if (made(merges[rank].left) >= own || made(merges[rank].right) >= own) return false;
  }
  return true;
}

}  // namespace

Bpe::Bpe(const Vocabulary& vocabulary, std::vector<Merge> merges, bool ignore_merges)
    : vocabulary_(vocabulary),
      ignore_merges_(ignore_merges),
      ordered_(ranks_are_ordered(merges, vocabulary.id_end())),
      merges_(std::move(merges)),
      pairs_(std::bit_ceil(std::max<std::size_t>(16, merges_.size() * 2))),
      mask_(pairs_.size() - 1),
      filter_(pairs_.size() * 4 / 64),
      filter_mask_(pairs_.size() * 4 - 1),
      whole_(std::make_unique<std::atomic<std::uint8_t>[]>(
          static_cast<std::size_t>(vocabulary.id_end()))) {
  for (unsigned byte = 0; byte < 256; ++byte) {
    const char c = static_cast<char>(byte);
    byte_token_[byte] = vocabulary.find_bytes(&c, 1);
  }
  for (std::size_t rank = 0; rank < merges_.size(); ++rank) {
    const std::uint64_t key = key_of(merges_[rank].left, merges_[rank].right);
    std::size_t slot = hash_key(key) & mask_;
    while (pairs_[slot].key != kNoKey) slot = (slot + 1) & mask_;
    pairs_[slot] = {key, static_cast<std::int32_t>(rank)};
    const std::size_t bit = hash_key(key) & filter_mask_;
    filter_[bit / 64] |= std::uint64_t{1} << (bit % 64);
  }
}

std::int32_t Bpe::rank_of(TokenId left, TokenId right) const {
  const std::uint64_t key = key_of(left, right);
  const std::size_t hash = hash_key(key);
  const std::size_t bit = hash & filter_mask_;
  if ((filter_[bit / 64] >> (bit % 64) & 1) == 0) return kNoRank;
  for (std::size_t slot = hash & mask_;; slot = (slot + 1) & mask_) {
    if (pairs_[slot].key == key) return pairs_[slot].rank;
    if (pairs_[slot].key == kNoKey) return kNoRank;
  }
}

void Bpe::never_whole(TokenId id) {
  if (id < vocabulary_.id_end())
    whole_[static_cast<std::size_t>(id)].store(kNever, std::memory_order_relaxed);
}

int Bpe::load_symbols(std::string_view piece, std::vector<TokenId>& symbols) const {
  symbols.clear();
  int missing = -1;
  for (const char c : piece) {
    const auto byte = static_cast<std::uint8_t>(c);
    const TokenId id = byte_token_[byte];
    if (id != kNoToken) {
      symbols.push_back(id);
    } else if (missing < 0) {
      missing = byte;
    }
  }
  return missing;
}

int Bpe::encode(std::string_view piece, Scratch& scratch, std::vector<TokenId>& ids) const {
  const TokenId whole = vocabulary_.find_bytes(piece.data(), piece.size());
  if (whole != kNoToken && may_stand_whole(whole, piece, scratch)) {
    ids.push_back(whole);
    return -1;
  }
  if (piece.size() <= kShort && merges_.size() <= kMostShortMerges)
    return encode_short(piece, scratch, ids);
  return ordered_ ? encode_by_rank(piece, scratch, ids) : encode_by_heap(piece, scratch, ids);
}

bool Bpe::may_stand_whole(TokenId id, std::string_view piece, Scratch& scratch) const {
  std::atomic<std::uint8_t>& state = whole_[static_cast<std::size_t>(id)];
  std::uint8_t known = state.load(std::memory_order_relaxed);
  if (known == kUnknown) {
    if (ignore_merges_) return true;
    std::vector<TokenId> encoded;
    ordered_ ? encode_by_rank(piece, scratch, encoded) : encode_by_heap(piece, scratch, encoded);
    known = encoded.size() == 1 && encoded.front() == id ? kIsItself : kIsNot;
    state.store(known, std::memory_order_relaxed);
  }
  return known == kIsItself;
}

int Bpe::encode_by_definition(std::string_view piece, std::vector<TokenId>& ids) const {
  std::vector<TokenId> symbols;
  const int missing = load_symbols(piece, symbols);
  while (true) {
    std::size_t best = 0;
    std::int32_t best_rank = kNoRank;
    for (std::size_t i = 0; i + 1 < symbols.size(); ++i) {
      const std::int32_t rank = rank_of(symbols[i], symbols[i + 1]);
      if (rank < best_rank) best_rank = rank, best = i;
    }
    if (best_rank == kNoRank) break;
    symbols[best] = merges_[static_cast<std::size_t>(best_rank)].result;
    symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(best) + 1);
  }
  ids.insert(ids.end(), symbols.begin(), symbols.end());
  return missing;
}

// One number per place, rank << 7 | place: their minimum is the pair to merge, found without a
// branch. Places stay where they are; a merged pair lives on at the place of its left part.
int Bpe::encode_short(std::string_view piece, Scratch& scratch, std::vector<TokenId>& ids) const {
  assert(piece.size() <= kShort && merges_.size() <= kMostShortMerges);
  auto& symbols = scratch.symbols;
  const int missing = load_symbols(piece, symbols);
  const auto size = static_cast<std::int32_t>(symbols.size());
  std::array<std::int32_t, kShort> keys;
  std::array<std::int8_t, kShort> previous, next;
  const auto key_at = [&](std::int32_t place, std::int32_t rank) {
    return rank == kNoRank ? kNoRank : rank << 7 | place;
  };
  for (std::int32_t i = 0; i < size; ++i) {
    previous[static_cast<std::size_t>(i)] = static_cast<std::int8_t>(i - 1);
    next[static_cast<std::size_t>(i)] = static_cast<std::int8_t>(i + 1);
  }
  const std::int32_t pairs = size - 1;
  for (std::int32_t i = 0; i < pairs; ++i) {
    keys[static_cast<std::size_t>(i)] = key_at(
        i, rank_of(symbols[static_cast<std::size_t>(i)], symbols[static_cast<std::size_t>(i) + 1]));
  }
  while (pairs > 0) {
    std::int32_t least = kNoRank;
    for (std::int32_t i = 0; i < pairs; ++i)
      least = std::min(least, keys[static_cast<std::size_t>(i)]);
    if (least == kNoRank) break;
    const std::int32_t place = least & 127;
    const auto here = static_cast<std::size_t>(place);
    const auto right = static_cast<std::size_t>(next[here]);
    symbols[here] = merges_[static_cast<std::size_t>(least >> 7)].result;
    symbols[right] = kNoToken;
    if (static_cast<std::int32_t>(right) < pairs) keys[right] = kNoRank;
    const std::int32_t after = next[right];
    next[here] = static_cast<std::int8_t>(after);
    if (after < size) {
      previous[static_cast<std::size_t>(after)] = static_cast<std::int8_t>(place);
      keys[here] = key_at(place, rank_of(symbols[here], symbols[static_cast<std::size_t>(after)]));
    } else {
      keys[here] = kNoRank;
    }
    if (const std::int32_t before = previous[here]; before >= 0) {
      keys[static_cast<std::size_t>(before)] =
          key_at(before, rank_of(symbols[static_cast<std::size_t>(before)], symbols[here]));
    }
  }
  for (const TokenId id : symbols) {
    if (id != kNoToken) ids.push_back(id);
  }
  return missing;
}

int Bpe::load_nodes(std::string_view piece, Scratch& scratch) const {
  const int missing = load_symbols(piece, scratch.symbols);
  const std::size_t size = scratch.symbols.size();
  scratch.nodes.resize(size);
  for (std::uint32_t i = 0; i < size; ++i) {
    scratch.nodes[i] = {scratch.symbols[i], i == 0 ? kEnd : i - 1, i + 1 == size ? kEnd : i + 1};
  }
  return missing;
}

std::int32_t Bpe::rank_at(std::uint32_t place, const Scratch& scratch) const {
  const Node& node = scratch.nodes[place];
  return rank_of(node.symbol, scratch.nodes[node.next].symbol);
}

bool Bpe::is_pair(std::uint32_t place, const Merge& merge, const Scratch& scratch) {
  const Node& left = scratch.nodes[place];
  return left.symbol == merge.left && left.next != kEnd &&
         scratch.nodes[left.next].symbol == merge.right;
}

void Bpe::unite(std::uint32_t place, const Merge& merge, Scratch& scratch) {
  Node& left = scratch.nodes[place];
  Node& right = scratch.nodes[left.next];
  left.symbol = merge.result;
  right.symbol = kNoToken;
  left.next = right.next;
  if (left.next != kEnd) scratch.nodes[left.next].previous = place;
}

void Bpe::collect(const Scratch& scratch, std::vector<TokenId>& ids) const {
  for (const Node& node : scratch.nodes) {
    if (node.symbol != kNoToken) ids.push_back(node.symbol);
  }
}

int Bpe::encode_by_heap(std::string_view piece, Scratch& scratch, std::vector<TokenId>& ids) const {
  const auto& nodes = scratch.nodes;
  auto& heap = scratch.heap;  // rank << 32 | place
  const int missing = load_nodes(piece, scratch);
  heap.clear();
  const auto push = [&](std::uint32_t place) {
    const std::int32_t rank = rank_at(place, scratch);
    if (rank == kNoRank) return;
    heap.push_back(std::uint64_t{static_cast<std::uint32_t>(rank)} << 32 | place);
    std::push_heap(heap.begin(), heap.end(), std::greater<>());
  };
  for (std::uint32_t i = 0; i + 1 < nodes.size(); ++i) push(i);
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end(), std::greater<>());
    const auto place = static_cast<std::uint32_t>(heap.back());
    const Merge& merge = merges_[static_cast<std::size_t>(heap.back() >> 32)];
    heap.pop_back();
    if (!is_pair(place, merge, scratch)) continue;  // a part was merged meanwhile
    unite(place, merge, scratch);
    if (nodes[place].previous != kEnd) push(nodes[place].previous);
    if (nodes[place].next != kEnd) push(place);
  }
  collect(scratch, ids);
  return missing;
}

void Bpe::push_place(std::uint32_t place, std::int32_t rank, Scratch& scratch) const {
  if (rank == kNoRank) return;
  const auto r = static_cast<std::size_t>(rank);
  scratch.places.push_back({place, scratch.first_of_rank[r]});
  scratch.first_of_rank[r] = static_cast<std::uint32_t>(scratch.places.size() - 1);
  scratch.waiting[r / 64] |= std::uint64_t{1} << (r % 64);
  scratch.waiting_words[r / 4096] |= std::uint64_t{1} << (r / 64 % 64);
}

// The lowest rank with waiting places, whose places go to `now` in ascending order. Ranks never
// come back: a merge makes only pairs of higher rank.
bool Bpe::pop_rank(std::size_t& word_of_words, std::int32_t& rank, Scratch& scratch) const {
  auto& words = scratch.waiting;
  auto& words_of_words = scratch.waiting_words;
  while (word_of_words < words_of_words.size() && words_of_words[word_of_words] == 0)
    ++word_of_words;
  if (word_of_words == words_of_words.size()) return false;
  const std::size_t word =
      word_of_words * 64 +
      static_cast<std::size_t>(std::countr_zero(words_of_words[word_of_words]));
  const std::size_t lowest = word * 64 + static_cast<std::size_t>(std::countr_zero(words[word]));
  words[word] &= words[word] - 1;
  if (words[word] == 0) words_of_words[word_of_words] &= words_of_words[word_of_words] - 1;

  auto& now = scratch.now;
  now.clear();
  for (std::uint32_t i = scratch.first_of_rank[lowest]; i != kEnd; i = scratch.places[i].chained) {
    now.push_back(scratch.places[i].place);
  }
  scratch.first_of_rank[lowest] = kEnd;
  // They are chained last first; mostly that is descending.
  std::reverse(now.begin(), now.end());
  if (!std::is_sorted(now.begin(), now.end())) std::sort(now.begin(), now.end());
  rank = static_cast<std::int32_t>(lowest);
  return true;
}

int Bpe::encode_by_rank(std::string_view piece, Scratch& scratch, std::vector<TokenId>& ids) const {
  assert(ordered_);
  const auto& nodes = scratch.nodes;
  const int missing = load_nodes(piece, scratch);
  if (scratch.first_of_rank.size() != merges_.size()) {
    scratch.first_of_rank.assign(merges_.size(), kEnd);
    scratch.waiting.assign(merges_.size() / 64 + 1, 0);
    scratch.waiting_words.assign(merges_.size() / 4096 + 1, 0);
  }
  scratch.places.clear();
  scratch.places.reserve(nodes.size() * 2);
  for (std::uint32_t i = 0; i + 1 < nodes.size(); ++i) push_place(i, rank_at(i, scratch), scratch);
  std::int32_t rank = 0;
  for (std::size_t word_of_words = 0; pop_rank(word_of_words, rank, scratch);) {
    const Merge& merge = merges_[static_cast<std::size_t>(rank)];
    const auto& now = scratch.now;
    for (std::size_t i = 0; i < now.size(); ++i) {
      constexpr std::size_t kAhead = 8;  // places lie far apart: fetch what comes soon
      if (i + kAhead < now.size()) __builtin_prefetch(&nodes[now[i + kAhead]]);
      const std::uint32_t place = now[i];
      if (!is_pair(place, merge, scratch)) continue;  // a part was merged meanwhile
      unite(place, merge, scratch);
      const std::uint32_t before = nodes[place].previous;
      if (before != kEnd) push_place(before, rank_at(before, scratch), scratch);
      if (nodes[place].next != kEnd) push_place(place, rank_at(place, scratch), scratch);
    }
  }
  collect(scratch, ids);
  return missing;
}

}  // namespace octlm::model
