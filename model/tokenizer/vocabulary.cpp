#include "model/tokenizer/vocabulary.h"

#include <array>
#include <bit>

#include "formats/utf8.h"

namespace octlm::model {
namespace {

// GPT-2's table. Symbols are code points below 0x144.
struct ByteSymbols {
  std::array<std::uint16_t, 256> symbol{};
  std::array<std::int16_t, 0x144> byte{};

  constexpr ByteSymbols() {
    byte.fill(-1);
    std::uint16_t next = 0x100;
    for (unsigned b = 0; b < 256; ++b) {
      const bool printable = (b >= 0x21 && b <= 0x7e) || (b >= 0xa1 && b != 0xad);
      symbol[b] = printable ? static_cast<std::uint16_t>(b) : next++;
      byte[symbol[b]] = static_cast<std::int16_t>(b);
    }
  }
};
constexpr ByteSymbols kSymbols;

}  // namespace

bool append_spelled_bytes(std::string& bytes, std::string_view symbols) {
  for (std::size_t at = 0; at < symbols.size();) {
    const formats::CodePoint c = formats::code_point_at(symbols.data() + at);
    if (c.value >= kSymbols.byte.size() || kSymbols.byte[c.value] < 0) return false;
    bytes.push_back(static_cast<char>(kSymbols.byte[c.value]));
    at += c.bytes;
  }
  return true;
}

std::string byte_symbol(std::uint8_t byte) {
  std::string out;
  formats::append_utf8(out, kSymbols.symbol[byte]);
  return out;
}

Vocabulary::Vocabulary(std::size_t expected_tokens)
    : slots_(std::bit_ceil(std::max<std::size_t>(16, expected_tokens * 2))) {
  entries_.reserve(expected_tokens);
  arena_.reserve(expected_tokens * 8);
}

std::size_t Vocabulary::slot_of(const char* data, std::size_t size, std::uint64_t hash) const {
  const std::size_t mask = slots_.size() - 1;
  const auto tag = static_cast<std::uint32_t>(hash >> 32);
  for (std::size_t slot = hash & mask;; slot = (slot + 1) & mask) {
    const Slot& found = slots_[slot];
    if (found.id == kNoToken) return slot;
    if (found.tag != tag) continue;
    const Entry& entry = entries_[at(found.id)];
    if (entry.size == size && __builtin_memcmp(arena_.data() + entry.begin, data, size) == 0)
      return slot;
  }
}

void Vocabulary::grow() {
  std::vector<Slot> old(slots_.size() * 2);
  old.swap(slots_);
  for (const Slot& slot : old) {
    if (slot.id == kNoToken) continue;
    const std::string_view content = bytes(slot.id);
    const std::uint64_t hash = hash_bytes(content.data(), content.size());
    slots_[slot_of(content.data(), content.size(), hash)] = slot;
  }
}

Vocabulary::Added Vocabulary::add(std::string_view symbols, TokenId id) {
  if (contains(id)) return Added::kDuplicateId;
  const std::size_t begin = arena_.size();
  const bool spelled = append_spelled_bytes(arena_, symbols);
  if (!spelled) {
    if (!unspelled_.emplace(symbols, id).second) {
      arena_.resize(begin);
      return Added::kDuplicateToken;
    }
    arena_.resize(begin);
    arena_ += symbols;
  } else {
    if ((spelled_ + 1) * 2 > slots_.size()) grow();
    const std::size_t size = arena_.size() - begin;
    const std::uint64_t hash = hash_bytes(arena_.data() + begin, size);
    const std::size_t slot = slot_of(arena_.data() + begin, size, hash);
    if (slots_[slot].id != kNoToken) {
      arena_.resize(begin);
      return Added::kDuplicateToken;
    }
    slots_[slot] = {static_cast<std::uint32_t>(hash >> 32), id};
    ++spelled_;
  }
  if (at(id) >= entries_.size()) entries_.resize(at(id) + 1);
  entries_[at(id)] = {static_cast<std::uint32_t>(begin),
                      static_cast<std::uint32_t>(arena_.size() - begin), spelled};
  ++size_;
  return Added::kYes;
}

TokenId Vocabulary::find_bytes(const char* data, std::size_t size) const {
  return slots_[slot_of(data, size, hash_bytes(data, size))].id;
}

TokenId Vocabulary::find(std::string_view symbols) const {
  std::string spelled;
  if (append_spelled_bytes(spelled, symbols)) return find_bytes(spelled.data(), spelled.size());
  const auto found = unspelled_.find(std::string(symbols));
  return found == unspelled_.end() ? kNoToken : found->second;
}

std::string Vocabulary::symbols(TokenId id) const {
  const std::string_view content = bytes(id);
  if (!is_spelled(id)) return std::string(content);
  std::string out;
  for (const char c : content) out += byte_symbol(static_cast<std::uint8_t>(c));
  return out;
}

}  // namespace octlm::model
