// Text falls into segments that cannot influence each other: a segment begins at a starter (class
// 0) that never composes with what stands before it. Almost all segments are one character that is
// its own NFC and are copied; the others are decomposed, sorted and composed.
#include "model/tokenizer/nfc.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "formats/utf8.h"
#include "model/tokenizer/unicode_tables.inc"

namespace octlm::model {
namespace {

constexpr std::uint32_t kLimit = 0x30000;  // no code point from here on combines or decomposes
constexpr std::uint32_t kHangulFirst = 0xac00, kHangulLast = 0xd7a3;
constexpr std::uint32_t kHangulL = 0x1100, kHangulV = 0x1161, kHangulT = 0x11a7;
constexpr std::uint32_t kHangulLs = 19, kHangulVs = 21, kHangulTs = 28;

bool is_hangul(std::uint32_t c) { return c >= kHangulFirst && c <= kHangulLast; }

class Characters {
 public:
  static const Characters& get() {
    static const Characters characters;
    return characters;
  }

  bool begins_segment(std::uint32_t c) const {
    return c >= kLimit || (flags_[c] & kNoBoundary) == 0;
  }
  bool stays(std::uint32_t c) const { return c >= kLimit || (flags_[c] & kChanges) == 0; }
  std::uint8_t combining_class(std::uint32_t c) const { return c < kLimit ? class_[c] : 0; }

  // Full canonical decomposition, appended.
  void decompose(std::uint32_t c, std::vector<std::uint32_t>& out) const {
    if (c >= kLimit || !decomposes_[c]) {
      out.push_back(c);
      return;
    }
    std::array<utf8proc_int32_t, 8> parts{};
    int boundary = 0;
    const auto count = utf8proc_decompose_char(static_cast<utf8proc_int32_t>(c), parts.data(),
                                               parts.size(), UTF8PROC_DECOMPOSE, &boundary);
    for (utf8proc_ssize_t i = 0; i < count; ++i) {
      out.push_back(static_cast<std::uint32_t>(parts[static_cast<std::size_t>(i)]));
    }
  }

  // The primary composite of a pair, or 0.
  std::uint32_t compose(std::uint32_t first, std::uint32_t second) const {
    if (first - kHangulL < kHangulLs && second - kHangulV < kHangulVs) {
      return kHangulFirst + ((first - kHangulL) * kHangulVs + (second - kHangulV)) * kHangulTs;
    }
    if (is_hangul(first) && (first - kHangulFirst) % kHangulTs == 0 &&
        second - (kHangulT + 1) < kHangulTs - 1) {
      return first + (second - kHangulT);
    }
    const auto found = composites_.find(std::uint64_t{first} << 32 | second);
    return found == composites_.end() ? 0 : found->second;
  }

 private:
  // May act on, or be moved before, what stands before it.
  static constexpr std::uint8_t kNoBoundary = 1;
  // Its own NFC is something else.
  static constexpr std::uint8_t kChanges = 2;

  Characters() : class_(kLimit), decomposes_(kLimit), flags_(kLimit) {
    for_each(kCombining, [&](std::uint32_t c) {
      class_[c] = static_cast<std::uint8_t>(
          utf8proc_get_property(static_cast<utf8proc_int32_t>(c))->combining_class);
    });
    for_each(kDecomposed, [&](std::uint32_t c) { decomposes_[c] = true; });
    for_each(kDecomposed, [&](std::uint32_t c) {
      if (!is_hangul(c)) add_composite(c);
    });
    for (std::uint32_t c = kHangulV; c < kHangulV + kHangulVs; ++c) flags_[c] |= kNoBoundary;
    for (std::uint32_t c = kHangulT + 1; c < kHangulT + kHangulTs; ++c) flags_[c] |= kNoBoundary;
    std::vector<std::uint32_t> parts;
    for (std::uint32_t c = 0; c < kLimit; ++c) {
      if (class_[c] != 0) flags_[c] |= kNoBoundary;
      if (!decomposes_[c] || is_hangul(c)) continue;
      parts.clear();
      decompose(c, parts);
      if (class_[parts.front()] != 0 || (flags_[parts.front()] & kNoBoundary) != 0)
        flags_[c] |= kNoBoundary;
    }
  }

  template <typename Visit>
  static void for_each(std::span<const std::uint32_t> ranges, Visit visit) {
    for (std::size_t i = 0; i < ranges.size(); i += 2) {
      for (std::uint32_t c = ranges[i]; c <= ranges[i + 1]; ++c) visit(c);
    }
  }

  // utf8proc composes c's decomposition: to c, or it is excluded from composition.
  static std::uint32_t composed(std::vector<utf8proc_int32_t> parts) {
    const auto count = utf8proc_normalize_utf32(
        parts.data(), static_cast<utf8proc_ssize_t>(parts.size()),
        static_cast<utf8proc_option_t>(UTF8PROC_COMPOSE | UTF8PROC_STABLE));
    return count == 1 ? static_cast<std::uint32_t>(parts.front()) : 0;
  }

  void add_composite(std::uint32_t c) {
    std::vector<std::uint32_t> full;
    decompose(c, full);
    const std::vector<utf8proc_int32_t> parts(full.begin(), full.end());
    if (parts.size() < 2 || composed(parts) != c) {
      flags_[c] |= kChanges;
      return;
    }
    const std::uint32_t first =
        parts.size() == 2 ? full[0]
                          : composed(std::vector<utf8proc_int32_t>(parts.begin(), parts.end() - 1));
    composites_.emplace(std::uint64_t{first} << 32 | full.back(), c);
    flags_[full.back()] |= kNoBoundary;
  }

  std::vector<std::uint8_t> class_;
  std::vector<bool> decomposes_;
  std::vector<std::uint8_t> flags_;
  std::unordered_map<std::uint64_t, std::uint32_t> composites_;
};

// Canonical ordering: every run of non-starters sorted by class, stably.
void sort_marks(std::vector<std::uint32_t>& text, const Characters& characters) {
  const auto by_class = [&](std::uint32_t a, std::uint32_t b) {
    return characters.combining_class(a) < characters.combining_class(b);
  };
  for (auto begin = text.begin(); begin != text.end();) {
    if (characters.combining_class(*begin) == 0) {
      ++begin;
      continue;
    }
    const auto end = std::find_if(
        begin, text.end(), [&](std::uint32_t c) { return characters.combining_class(c) == 0; });
    std::stable_sort(begin, end, by_class);
    begin = end;
  }
}

// A mark joins the last starter unless a mark between them, of the same or a higher class, blocks
// it.
void compose(std::vector<std::uint32_t>& text, const Characters& characters) {
  constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  std::size_t starter = kNone, size = 0;
  int last_class = -1;  // of the character kept last after the starter; -1: none
  for (const std::uint32_t c : std::vector<std::uint32_t>(text)) {
    const int combining_class = characters.combining_class(c);
    if (starter != kNone && last_class < combining_class) {
      if (const std::uint32_t composite = characters.compose(text[starter], c)) {
        text[starter] = composite;
        continue;
      }
    }
    if (combining_class == 0) {
      starter = size;
      last_class = -1;
    } else {
      last_class = combining_class;
    }
    text[size++] = c;
  }
  text.resize(size);
}

// Calls copy(begin, end) for stretches that are their own NFC and replace(begin, end, text) for the
// rest.
template <typename Copy, typename Replace>
void for_each_stretch(std::string_view text, Copy copy, Replace replace) {
  const Characters& characters = Characters::get();
  std::vector<std::uint32_t> segment;
  std::string composed;
  std::size_t copied = 0;
  for (std::size_t at = 0; at < text.size();) {
    // REQUIRES the bytes before `at` to be settled up to `copied`; one segment is [at, end).
    const formats::CodePoint first = formats::code_point_at(text.data() + at);
    std::size_t end = at + first.bytes;
    bool alone = true;
    while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0x80) != 0) {
      const formats::CodePoint next = formats::code_point_at(text.data() + end);
      if (characters.begins_segment(next.value)) break;
      alone = false;
      end += next.bytes;
    }
    if (!alone || !characters.stays(first.value)) {
      segment.clear();
      for (std::size_t i = at; i < end;) {
        const formats::CodePoint c = formats::code_point_at(text.data() + i);
        characters.decompose(c.value, segment);
        i += c.bytes;
      }
      sort_marks(segment, characters);
      compose(segment, characters);
      composed.clear();
      for (const std::uint32_t c : segment) formats::append_utf8(composed, c);
      if (composed != text.substr(at, end - at)) {
        if (copied < at) copy(copied, at);
        replace(at, end, composed);
        copied = end;
      }
    }
    at = end;
  }
  if (copied < text.size()) copy(copied, text.size());
}

}  // namespace

bool is_surely_nfc(std::string_view text) {
  const Characters& characters = Characters::get();
  for (std::size_t at = 0; at < text.size();) {
    if ((static_cast<unsigned char>(text[at]) & 0x80) == 0) {
      ++at;
      continue;
    }
    const formats::CodePoint c = formats::code_point_at(text.data() + at);
    if (!characters.begins_segment(c.value) || !characters.stays(c.value)) return false;
    at += c.bytes;
  }
  return true;
}

std::string nfc(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for_each_stretch(
      text, [&](std::size_t begin, std::size_t end) { out += text.substr(begin, end - begin); },
      [&](std::size_t, std::size_t, const std::string& composed) { out += composed; });
  return out;
}

RenderedText nfc(const RenderedText& text) {
  RenderedText out;
  const std::string_view bytes = text.text();
  const auto& runs = text.runs();
  std::size_t run = 0;
  for_each_stretch(
      bytes,
      [&](std::size_t begin, std::size_t end) {
        for (; begin < end; begin = std::min(end, runs[run].end)) {
          while (runs[run].end <= begin) ++run;
          out.append(bytes.substr(begin, std::min(end, runs[run].end) - begin), runs[run].origin);
        }
      },
      [&](std::size_t begin, std::size_t end, const std::string& composed) {
        out.append(composed, text.from_template(begin, end) ? Origin::kTemplate : Origin::kUser);
      });
  return out;
}

}  // namespace octlm::model
