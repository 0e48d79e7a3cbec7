#include "model/tokenizer/added_tokens.h"

#include <algorithm>
#include <utility>

#include "formats/utf8.h"
#include "model/tokenizer/unicode_classes.h"

namespace octlm::model {
namespace {

bool has_class(std::string_view text, std::size_t at, std::uint8_t flag) {
  return (UnicodeClasses::get().of(formats::code_point_at(text.data() + at).value) & flag) != 0;
}

bool touches_word(std::string_view text, std::size_t begin, std::size_t end) {
  if (begin > 0 && has_class(text, formats::character_before(text, begin), CharClass::kWord))
    return true;
  return end < text.size() && has_class(text, end, CharClass::kWord);
}

// Not below `floor`.
std::size_t before_spaces(std::string_view text, std::size_t at, std::size_t floor) {
  while (at > floor) {
    const std::size_t previous = formats::character_before(text, at);
    if (!has_class(text, previous, CharClass::kSpace)) break;
    at = previous;
  }
  return std::max(at, floor);
}

std::size_t after_spaces(std::string_view text, std::size_t at) {
  while (at < text.size() && has_class(text, at, CharClass::kSpace))
    at += formats::code_point_at(text.data() + at).bytes;
  return at;
}

}  // namespace

bool AddedTokenSet::add(const AddedToken& token, std::string content) {
  const bool taken = std::any_of(entries_.begin(), entries_.end(),
                                 [&](const Entry& entry) { return entry.content == content; });
  if (!taken) {
    begins_[static_cast<unsigned char>(content.front())] = true;
    entries_.push_back({std::move(content), token});
  }
  return !taken;
}

void AddedTokenSet::finish() {
  std::sort(entries_.begin(), entries_.end(),
            [](const Entry& a, const Entry& b) { return a.content < b.content; });
}

// Narrows the sorted contents byte by byte to those that agree with the text so far.
const AddedTokenSet::Entry* AddedTokenSet::longest_at(std::string_view text, std::size_t at) const {
  const Entry* longest = nullptr;
  auto low = entries_.begin(), high = entries_.end();
  for (std::size_t depth = 0; low != high; ++depth) {
    if (low->content.size() == depth) {
      longest = &*low;
      if (++low == high) break;
    }
    if (at + depth >= text.size()) break;
    const auto byte = static_cast<unsigned char>(text[at + depth]);
    const auto at_depth = [depth](const Entry& entry) {
      return static_cast<unsigned char>(entry.content[depth]);
    };
    low =
        std::partition_point(low, high, [&](const Entry& entry) { return at_depth(entry) < byte; });
    high = std::partition_point(low, high,
                                [&](const Entry& entry) { return at_depth(entry) == byte; });
  }
  return longest;
}

void AddedTokenSet::find_within(std::string_view text, std::size_t begin, std::size_t end,
                                std::size_t& taken, std::vector<Found>& found) const {
  const std::string_view allowed = text.substr(0, end);
  // Of the run of spaces that the last rstrip took: no run is walked twice.
  std::size_t spaces_end = 0;
  for (std::size_t at = begin; at < end;) {
    if (!begins_[static_cast<unsigned char>(text[at])]) {
      ++at;
      continue;
    }
    const Entry* entry = longest_at(allowed, at);
    if (entry == nullptr) {
      ++at;
      continue;
    }
    std::size_t first = at, last = at + entry->content.size();
    at = last;
    if (entry->token.single_word && touches_word(text, first, last)) continue;
    if (entry->token.lstrip)
      first = std::max(taken, before_spaces(text, first, std::min(taken, first)));
    if (entry->token.rstrip) {
      last = last < spaces_end ? spaces_end : after_spaces(text, last);
      spaces_end = last;
    }
    found.push_back({entry->token.id, first, last});
    taken = last;
  }
}

std::vector<AddedTokenSet::Found> AddedTokenSet::find(std::string_view text) const {
  std::vector<Found> found;
  std::size_t taken = 0;
  if (!empty()) find_within(text, 0, text.size(), taken, found);
  return found;
}

std::vector<AddedTokenSet::Found> AddedTokenSet::find(const RenderedText& text) const {
  std::vector<Found> found;
  if (empty()) return found;
  std::size_t taken = 0;
  for (const RenderedText::Run& run : text.runs()) {
    if (run.origin == Origin::kTemplate) find_within(text.text(), run.begin, run.end, taken, found);
  }
  return found;
}

}  // namespace octlm::model
