// Tokens by id and by content. A byte-level vocabulary spells every byte as one character (GPT-2's
// table: printable Latin-1 for itself, the rest from U+0100 on); here tokens are kept as the bytes
// they stand for. A token with a character outside that table (a control token with a space in its
// name) stands for its own UTF-8, as in Hugging Face's decoder, and is no result of merging.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace octlm::model {

using TokenId = std::int32_t;
inline constexpr TokenId kNoToken = -1;

// Appends the bytes that the characters of `symbols` spell; false (and nothing of use) when one of
// them spells no byte.
bool append_spelled_bytes(std::string& bytes, std::string_view symbols);
// The character that spells a byte.
std::string byte_symbol(std::uint8_t byte);

// Fast on short strings.
inline std::uint64_t hash_bytes(const char* data, std::size_t size);

class Vocabulary {
 public:
  static constexpr TokenId kIdLimit = 1 << 24;

  explicit Vocabulary(std::size_t expected_tokens = 0);

  enum class Added { kYes, kDuplicateToken, kDuplicateId };
  // REQUIRES: 0 <= id < kIdLimit.
  Added add(std::string_view symbols, TokenId id);

  std::size_t size() const { return size_; }
  // One more than the largest id.
  TokenId id_end() const { return static_cast<TokenId>(entries_.size()); }

  // By content as spelled in the file, or as bytes; kNoToken when there is none.
  TokenId find(std::string_view symbols) const;
  TokenId find_bytes(const char* data, std::size_t size) const;

  bool contains(TokenId id) const {
    return id >= 0 && id < id_end() && entries_[at(id)].size != kAbsent;
  }
  // The bytes that a token stands for; "" when there is no such token.
  std::string_view bytes(TokenId id) const {
    if (!contains(id)) return {};
    const Entry& entry = entries_[at(id)];
    return std::string_view(arena_).substr(entry.begin, entry.size);
  }
  // As spelled in the file.
  std::string symbols(TokenId id) const;
  // Is it made of byte symbols?
  bool is_spelled(TokenId id) const { return contains(id) && entries_[at(id)].spelled; }

 private:
  static constexpr std::uint32_t kAbsent = 0xffffffff;
  struct Entry {
    std::uint32_t begin = 0;
    std::uint32_t size = kAbsent;
    bool spelled = false;
  };
  struct Slot {
    std::uint32_t tag = 0;
    TokenId id = kNoToken;
  };
  static std::size_t at(TokenId id) { return static_cast<std::size_t>(id); }

  std::size_t slot_of(const char* data, std::size_t size, std::uint64_t hash) const;
  void grow();

  std::string arena_;
  std::vector<Entry> entries_;
  std::vector<Slot> slots_;  // open addressing, a power of two, at most half full
  std::size_t spelled_ = 0;
  std::size_t size_ = 0;
  std::unordered_map<std::string, TokenId> unspelled_;
};

__extension__ using Wide = unsigned __int128;

inline std::uint64_t hash_bytes(const char* data, std::size_t size) {
  constexpr std::uint64_t kA = 0x9e3779b97f4a7c15u, kB = 0xd6e8feb86659fd93u;
  const auto load8 = [](const char* from) {
    std::uint64_t word;
    __builtin_memcpy(&word, from, 8);
    return word;
  };
  const auto load4 = [](const char* from) {
    std::uint32_t word;
    __builtin_memcpy(&word, from, 4);
    return std::uint64_t{word};
  };
  const auto mix = [](std::uint64_t a, std::uint64_t b) {
    const Wide product = static_cast<Wide>(a) * b;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
  };
  std::uint64_t state = kA ^ size * kB;
  while (size > 16) {
    state = mix(state ^ load8(data), kB ^ load8(data + 8));
    data += 16;
    size -= 16;
  }
  std::uint64_t a = 0, b = 0;
  if (size >= 8) {
    a = load8(data), b = load8(data + size - 8);
  } else if (size >= 4) {
    a = load4(data), b = load4(data + size - 4);
  } else if (size > 0) {
    a = static_cast<unsigned char>(data[0]) |
        static_cast<std::uint64_t>(static_cast<unsigned char>(data[size / 2])) << 8 |
        static_cast<std::uint64_t>(static_cast<unsigned char>(data[size - 1])) << 16;
  }
  return mix(state ^ a, kB ^ b);
}

}  // namespace octlm::model
