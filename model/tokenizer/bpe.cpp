#include "model/tokenizer/bpe.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <string>

namespace octlm::model {
namespace {

constexpr std::size_t kShort = 96;  // bytes up to which the O(n^2) way is the fastest (measured)

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
  const auto made = [&](TokenId id) -> std::int32_t& { return last_made[static_cast<std::size_t>(id)]; };
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

Bpe::Bpe(const Vocabulary& vocabulary, const std::vector<Merge>& merges, bool ignore_merges)
    : vocabulary_(vocabulary),
      ignore_merges_(ignore_merges),
      ordered_(ranks_are_ordered(merges, vocabulary.id_end())),
      merges_(merges.size()),
      pairs_(std::bit_ceil(std::max<std::size_t>(16, merges.size() * 2))),
      mask_(pairs_.size() - 1),
      whole_(std::make_unique<std::atomic<std::uint8_t>[]>(static_cast<std::size_t>(vocabulary.id_end()))) {
  for (unsigned byte = 0; byte < 256; ++byte) {
    const char c = static_cast<char>(byte);
    byte_token_[byte] = vocabulary.find_bytes(&c, 1);
  }
  for (std::size_t rank = 0; rank < merges.size(); ++rank) {
    const std::uint64_t key = key_of(merges[rank].left, merges[rank].right);
    std::size_t slot = hash_key(key) & mask_;
    while (pairs_[slot].key != kNoKey) slot = (slot + 1) & mask_;
    pairs_[slot] = {key, static_cast<std::int32_t>(rank), merges[rank].result};
  }
}

const Bpe::Pair* Bpe::find_pair(TokenId left, TokenId right) const {
  const std::uint64_t key = key_of(left, right);
  for (std::size_t slot = hash_key(key) & mask_;; slot = (slot + 1) & mask_) {
    if (pairs_[slot].key == key) return &pairs_[slot];
    if (pairs_[slot].key == kNoKey) return nullptr;
  }
}

std::int32_t Bpe::rank_of(TokenId left, TokenId right) const {
  const Pair* pair = find_pair(left, right);
  return pair == nullptr ? kNoRank : pair->rank;
}

void Bpe::never_whole(TokenId id) {
  if (id < vocabulary_.id_end()) whole_[static_cast<std::size_t>(id)].store(kNever, std::memory_order_relaxed);
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
  if (piece.size() <= kShort) return encode_short(piece, scratch, ids);
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
    symbols[best] = find_pair(symbols[best], symbols[best + 1])->result;
    symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(best) + 1);
  }
  ids.insert(ids.end(), symbols.begin(), symbols.end());
  return missing;
}

int Bpe::encode_short(std::string_view piece, Scratch& scratch, std::vector<TokenId>& ids) const {
  auto& symbols = scratch.symbols;
  auto& ranks = scratch.ranks;  // [i] rank of the pair (i, i + 1)
  const int missing = load_symbols(piece, symbols);
  std::size_t size = symbols.size();
  ranks.resize(size);
  for (std::size_t i = 0; i + 1 < size; ++i) ranks[i] = rank_of(symbols[i], symbols[i + 1]);
  while (size > 1) {
    std::int32_t best_rank = ranks[0];
    for (std::size_t i = 1; i + 1 < size; ++i) best_rank = std::min(best_rank, ranks[i]);
    if (best_rank == kNoRank) break;
    std::size_t best = 0;
    while (ranks[best] != best_rank) ++best;
    symbols[best] = find_pair(symbols[best], symbols[best + 1])->result;
    std::copy(symbols.begin() + static_cast<std::ptrdiff_t>(best) + 2,
              symbols.begin() + static_cast<std::ptrdiff_t>(size),
              symbols.begin() + static_cast<std::ptrdiff_t>(best) + 1);
    std::copy(ranks.begin() + static_cast<std::ptrdiff_t>(best) + 1,
              ranks.begin() + static_cast<std::ptrdiff_t>(size), ranks.begin() + static_cast<std::ptrdiff_t>(best));
    --size;
    if (best + 1 < size) ranks[best] = rank_of(symbols[best], symbols[best + 1]);
    if (best > 0) ranks[best - 1] = rank_of(symbols[best - 1], symbols[best]);
  }
  ids.insert(ids.end(), symbols.begin(), symbols.begin() + static_cast<std::ptrdiff_t>(size));
  return missing;
}

// Symbols as a list: a merged pair lives on at the place of its left part.
void Bpe::link(Scratch& scratch) const {
  const std::size_t size = scratch.symbols.size();
  scratch.previous.resize(size);
  scratch.next.resize(size);
  for (std::uint32_t i = 0; i < size; ++i) {
    scratch.previous[i] = i == 0 ? kEnd : i - 1;
    scratch.next[i] = i + 1 == size ? kEnd : i + 1;
  }
}

void Bpe::unite(std::uint32_t place, const Pair& pair, Scratch& scratch) const {
  const std::uint32_t right = scratch.next[place];
  const std::uint32_t after = scratch.next[right];
  scratch.symbols[place] = pair.result;
  scratch.symbols[right] = kNoToken;
  scratch.next[place] = after;
  if (after != kEnd) scratch.previous[after] = place;
}

void Bpe::collect(const Scratch& scratch, std::vector<TokenId>& ids) const {
  for (const TokenId id : scratch.symbols) {
    if (id != kNoToken) ids.push_back(id);
  }
}

int Bpe::encode_by_heap(std::string_view piece, Scratch& scratch, std::vector<TokenId>& ids) const {
  auto& symbols = scratch.symbols;
  auto& heap = scratch.heap;  // rank << 32 | place
  const int missing = load_symbols(piece, symbols);
  link(scratch);
  heap.clear();
  const auto entry = [&](std::uint32_t place) {
    const std::int32_t rank = rank_of(symbols[place], symbols[scratch.next[place]]);
    return rank == kNoRank ? kNoKey : std::uint64_t{static_cast<std::uint32_t>(rank)} << 32 | place;
  };
  for (std::uint32_t i = 0; i + 1 < symbols.size(); ++i) {
    if (const std::uint64_t e = entry(i); e != kNoKey) heap.push_back(e);
  }
  std::make_heap(heap.begin(), heap.end(), std::greater<>());
  const auto push = [&](std::uint32_t place) {
    if (const std::uint64_t e = entry(place); e != kNoKey) {
      heap.push_back(e);
      std::push_heap(heap.begin(), heap.end(), std::greater<>());
    }
  };
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end(), std::greater<>());
    const auto place = static_cast<std::uint32_t>(heap.back());
    const auto rank = static_cast<std::int32_t>(heap.back() >> 32);
    heap.pop_back();
    if (symbols[place] == kNoToken || scratch.next[place] == kEnd) continue;
    const Pair* pair = find_pair(symbols[place], symbols[scratch.next[place]]);
    if (pair == nullptr || pair->rank != rank) continue;  // a part has been merged meanwhile
    unite(place, *pair, scratch);
    if (scratch.previous[place] != kEnd) push(scratch.previous[place]);
    if (scratch.next[place] != kEnd) push(place);
  }
  collect(scratch, ids);
  return missing;
}

void Bpe::push_place(std::uint32_t place, std::int32_t rank, Scratch& scratch) const {
  const auto r = static_cast<std::size_t>(rank);
  scratch.place.push_back(place);
  scratch.chained.push_back(scratch.first_of_rank[r]);
  scratch.first_of_rank[r] = static_cast<std::uint32_t>(scratch.place.size() - 1);
  scratch.waiting[r / 64] |= std::uint64_t{1} << (r % 64);
  scratch.waiting_words[r / 4096] |= std::uint64_t{1} << (r / 64 % 64);
}

int Bpe::encode_by_rank(std::string_view piece, Scratch& scratch, std::vector<TokenId>& ids) const {
  assert(ordered_);
  auto& symbols = scratch.symbols;
  const int missing = load_symbols(piece, symbols);
  link(scratch);
  if (scratch.first_of_rank.size() != merges_) {
    scratch.first_of_rank.assign(merges_, kEnd);
    scratch.waiting.assign(merges_ / 64 + 1, 0);
    scratch.waiting_words.assign(merges_ / 4096 + 1, 0);
  }
  scratch.place.clear();
  scratch.chained.clear();
  for (auto i = static_cast<std::uint32_t>(symbols.size()); i-- > 1;) {
    const std::int32_t rank = rank_of(symbols[i - 1], symbols[i]);
    if (rank != kNoRank) push_place(i - 1, rank, scratch);
  }
  // A merge makes only pairs of higher rank: what is left waiting lies ahead.
  for (std::size_t word_of_words = 0; word_of_words < scratch.waiting_words.size();) {
    if (scratch.waiting_words[word_of_words] == 0) {
      ++word_of_words;
      continue;
    }
    const std::size_t word =
        word_of_words * 64 + static_cast<std::size_t>(std::countr_zero(scratch.waiting_words[word_of_words]));
    const std::size_t rank = word * 64 + static_cast<std::size_t>(std::countr_zero(scratch.waiting[word]));
    scratch.waiting[word] &= scratch.waiting[word] - 1;
    if (scratch.waiting[word] == 0) scratch.waiting_words[word_of_words] &= scratch.waiting_words[word_of_words] - 1;

    scratch.now.clear();
    for (std::uint32_t i = scratch.first_of_rank[rank]; i != kEnd; i = scratch.chained[i]) {
      scratch.now.push_back(scratch.place[i]);
    }
    scratch.first_of_rank[rank] = kEnd;
    // Order matters only where places overlap (a pair of equals). They come in descending order mostly.
    if (scratch.now.size() > 1 && !std::is_sorted(scratch.now.begin(), scratch.now.end())) {
      std::reverse(scratch.now.begin(), scratch.now.end());
      if (!std::is_sorted(scratch.now.begin(), scratch.now.end())) std::sort(scratch.now.begin(), scratch.now.end());
    }
    for (const std::uint32_t place : scratch.now) {
      if (symbols[place] == kNoToken || scratch.next[place] == kEnd) continue;
      const Pair* pair = find_pair(symbols[place], symbols[scratch.next[place]]);
      if (pair == nullptr || static_cast<std::size_t>(pair->rank) != rank) continue;
      unite(place, *pair, scratch);
      if (const std::uint32_t before = scratch.previous[place]; before != kEnd) {
        const std::int32_t r = rank_of(symbols[before], symbols[place]);
        if (r != kNoRank) push_place(before, r, scratch);
      }
      if (const std::uint32_t after = scratch.next[place]; after != kEnd) {
        const std::int32_t r = rank_of(symbols[place], symbols[after]);
        if (r != kNoRank) push_place(place, r, scratch);
      }
    }
  }
  collect(scratch, ids);
  return missing;
}

}  // namespace octlm::model
