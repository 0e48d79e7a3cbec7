#include "model/tokenizer/unicode_classes.h"

#include <map>
#include <string>

#include "model/tokenizer/unicode_tables.inc"

namespace octlm::model {
namespace {

std::uint8_t class_of_category(std::size_t category) {
  const std::string_view name = kCategoryNames.substr(2 * category, 2);
  switch (name[0]) {
    case 'L':
      return CharClass::kLetter | CharClass::kWord;
    case 'N':
      return CharClass::kNumber | CharClass::kDigit | (name == "No" ? 0 : CharClass::kWord);
    case 'M':
      return CharClass::kWord;
    default:
      return name == "Pc" ? CharClass::kWord : 0;
  }
}

void add(std::vector<std::uint8_t>& classes, std::span<const std::uint32_t> ranges,
         std::uint8_t flag) {
  for (std::size_t i = 0; i < ranges.size(); i += 2) {
    for (std::uint32_t c = ranges[i]; c <= ranges[i + 1]; ++c) classes[c] |= flag;
  }
}

}  // namespace

UnicodeClasses::UnicodeClasses() {
  std::vector<std::uint8_t> classes(0x110000);
  const std::span<const std::uint32_t> starts(kCategoryStarts);
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const std::uint32_t end = i + 1 < starts.size() ? starts[i + 1] >> 5 : 0x110000;
    std::fill(classes.begin() + (starts[i] >> 5), classes.begin() + end,
              class_of_category(starts[i] & 31));
  }
  add(classes, kSpaces, CharClass::kSpace);
  add(classes, kDigitsBeyondNumber, CharClass::kDigit);
  add(classes, kWordBeyondCategories, CharClass::kWord);
  classes['\r'] |= CharClass::kNewline;
  classes['\n'] |= CharClass::kNewline;

  std::map<std::string_view, std::uint8_t> known;  // equal pages are stored once
  const std::string_view all(reinterpret_cast<const char*>(classes.data()), classes.size());
  for (std::size_t page = 0; page < page_.size(); ++page) {
    const auto [entry, added] =
        known.emplace(all.substr(page * 256, 256), static_cast<std::uint8_t>(known.size()));
    page_[page] = entry->second;
    if (added) pages_.insert(pages_.end(), entry->first.begin(), entry->first.end());
  }
}

const UnicodeClasses& UnicodeClasses::get() {
  static const UnicodeClasses classes;
  return classes;
}

std::vector<std::pair<std::uint32_t, std::uint32_t>> UnicodeClasses::ranges(
    std::string_view category) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> out;
  const std::span<const std::uint32_t> starts(kCategoryStarts);
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const std::string_view name = kCategoryNames.substr(2 * (starts[i] & 31), 2);
    if (category.empty() || !name.starts_with(category)) continue;
    const std::uint32_t first = starts[i] >> 5;
    const std::uint32_t last = (i + 1 < starts.size() ? starts[i + 1] >> 5 : 0x110000) - 1;
    if (!out.empty() && out.back().second + 1 == first) {
      out.back().second = last;
    } else {
      out.emplace_back(first, last);
    }
  }
  return out;
}

std::span<const std::uint32_t> UnicodeClasses::spaces() { return kSpaces; }

}  // namespace octlm::model
