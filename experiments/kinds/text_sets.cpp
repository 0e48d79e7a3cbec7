#include "experiments/kinds/text_sets.h"

#include <limits>
#include <random>
#include <stdexcept>

#include "formats/utf8.h"

namespace octlm::experiments {
namespace {

constexpr std::size_t kBlockTexts = 4096;
constexpr std::size_t kBlockBytes = 1 << 20;

// Collects texts and hands them on a block at a time.
class Blocks {
 public:
  explicit Blocks(const std::function<void(std::span<const std::string>)>& take) : take_(take) {}
  void add(std::string text) {
    bytes_ += text.size();
    texts_.push_back(std::move(text));
    if (texts_.size() >= kBlockTexts || bytes_ >= kBlockBytes) flush();
  }
  void flush() {
    if (!texts_.empty()) take_(texts_);
    texts_.clear();
    bytes_ = 0;
  }

 private:
  const std::function<void(std::span<const std::string>)>& take_;
  std::vector<std::string> texts_;
  std::size_t bytes_ = 0;
};

// The standard fixes the engine's numbers, not those of its distributions.
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : engine_(seed) {}
  std::uint64_t below(std::uint64_t end) { return engine_() % end; }
  const char* one_of(std::span<const char* const> list) { return list[below(list.size())]; }

 private:
  std::mt19937_64 engine_;
};

std::string utf8(std::uint32_t c) {
  std::string text;
  formats::append_utf8(text, c);
  return text;
}

bool is_surrogate(std::uint32_t c) { return c >= 0xd800 && c < 0xe000; }

// Where tokenizers go wrong, and how often each is drawn.
struct Group {
  std::uint64_t weight;
  std::vector<const char*> parts;
};

// clang-format off
const std::vector<Group>& groups() {
  static const std::vector<Group> all = {
      {20, {"a", "b", "c", "d", "e", "i", "o", "r", "s", "t", "u", "v", "l", "m", "A", "B", "S",
            "T", "é", "ß", "ſ", "ñ", "İ", "ı", "Å", "ﬁ", "日", "本", "语", "が", "한", "П", "ж", "ش",
            "א", "क"}},
      {8, {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "²", "½", "٣", "Ⅷ", "一", "𝟛",
           "\U00011de3", "\U00016ff4"}},
      {16, {" ", " ", " ", "  ", "   ", "\t", "\n", "\n\n", "\r", "\r\n", "\v", "\f", "\u0085",
            "\u00a0", "\u1680", "\u180e", "\u2003", "\u2028", "\u2029", "\u202f", "\u205f",
            "\u3000", "\u200b", "\ufeff"}},
      {7, {"\u0300", "\u0301", "\u0308", "\u0323", "\u0327", "\u0338", "\u0344", "\u0345", "\u05b0",
           "\u064b", "\u093c", "\u0f71", "\u0f72", "\u1ab0", "\u1acf", "\u20e3", "\u3099", "\ufe0f",
           "\U0001d165", "\U0001e8d0", "\U00011938", "\U00010eac"}},
      {10, {".", ",", ";", ":", "!", "?", "-", "_", "/", "\\", "(", ")", "[", "]", "{", "}", "<",
            ">", "|", "@", "#", "$", "%", "^", "&", "*", "+", "=", "~", "`", "\"", "'", "’", "“",
            "”", "…", "—", "。", "、", "！", "\x01", "\x1f", "\x7f", "\u00ad"}},
      {3, {"🙂", "👍🏽", "👨\u200d👩\u200d👧", "🇩🇪", "❤\ufe0f", "1\ufe0f\u20e3", "\U0001fae8"}},
      {2, {"\u200e", "\u200f", "\u202a", "\u202e", "\u2066", "\u2069", "\u061c"}},
      {6, {"'s", "'S", "'t", "'re", "'RE", "'vE", "'m", "'ll", "'lL", "'d", "'ſ", "'l", "''s", "’s",
           " 's"}},
      {5, {"<|im_start|>", "<|im_end|>", "<|endoftext|>", "<think>", "</think>", "<tool_call>",
           "</tool_response>", "<|im_", "|>", "<|begin_of_text|>", "<repo_name>", "<file_sep>",
           "<jupyter_code>"}},
      {4, {"\u1100", "\u1161", "\u11a8", "\uac00", "\uac01", "\u1112", "\u1175", "\u11c2",
           "\u11a7"}},
      {3, {"\u0958", "\u212b", "\u2126", "\u1e9b\u0323", "\u0344", "\u0f73", "\u2adc", "\uf900",
           "\U0002f800", "\u1026", "\U0001109a", "\U0001134b", "\u09c7\u09be",
           "\U00011935\U00011930", "\U00016d67\U00016d67"}},
      {8, {"robot", "the", "key", "tokenizer", "antidisestablishmentarianism", "return", "日本語",
           "Привет", "Việt", "brutalist", " xylophone"}}};
  return all;
}
// clang-format on

constexpr std::uint64_t kAnyCodePoint = 12;  // the weight of one from planes 0 to 3

std::string any_code_point(Draw& draw) {
  while (true) {
    const auto c =
        static_cast<std::uint32_t>(draw.below(2) == 0 ? draw.below(0x3000) : draw.below(0x40000));
    if (!is_surrogate(c)) return utf8(c);
  }
}

std::string random_part(Draw& draw) {
  std::uint64_t total = kAnyCodePoint;
  for (const Group& group : groups()) total += group.weight;
  std::uint64_t at = draw.below(total);
  for (const Group& group : groups()) {
    if (at < group.weight) return draw.one_of(group.parts);
    at -= group.weight;
  }
  return any_code_point(draw);
}

std::string random_text(Draw& draw) {
  std::string text;
  for (std::uint64_t parts = 1 + draw.below(23); parts > 0; --parts) text += random_part(draw);
  return text;
}

std::string repeated(const std::string& unit, std::size_t bytes) {
  std::string text;
  while (text.size() < bytes) text += unit;
  return text;
}

void code_points(Blocks& blocks, bool in_context) {
  for (std::uint32_t code = 0; code < 0x40000; ++code) {
    if (is_surrogate(code)) continue;
    const std::string c = utf8(code);
    blocks.add(in_context ? "a" + c + "b " + c + "1" + c + "." + c + c + "\n" + c : c);
  }
}

void long_words(Blocks& blocks) {
  for (const char* unit :
       {"x", "ab", "-", " ", "\n", "9", "\t ", "e\u0301", "日", "🙂", "\u0301"}) {
    for (const std::size_t bytes : {100, 1000, 10'000, 100'000}) blocks.add(repeated(unit, bytes));
  }
  Draw draw(1);
  for (const std::size_t bytes : {1000, 30'000, 1'000'000}) {
    std::string word;
    while (word.size() < bytes) word += static_cast<char>('a' + draw.below(26));
    blocks.add(std::move(word));
  }
}

}  // namespace

TextSet read_text_set(formats::ObjectReader& members) {
  TextSet set;
  set.name = members.required("set").one_of(
      {"code_points@1", "code_points_in_context@1", "long_words@1", "random_texts@1"});
  if (set.name != "random_texts@1") return set;
  set.count = members.required("count").integer(1, 100'000'000);
  set.seed = static_cast<std::uint64_t>(members.required("seed").integer(0));
  return set;
}

IdSet read_id_set(const formats::Reader& reader) {
  IdSet set;
  reader.object([&](formats::ObjectReader& members) {
    constexpr std::int64_t kLargest = std::numeric_limits<std::int32_t>::max();
    set.name = members.required("set").one_of({"random_ids@1"});
    set.count = members.required("count").integer(1, 100'000'000);
    set.seed = static_cast<std::uint64_t>(members.required("seed").integer(0));
    set.from = static_cast<std::int32_t>(members.required("from").integer(0, kLargest));
    set.below =
        static_cast<std::int32_t>(members.required("below").integer(set.from + 1, kLargest));
  });
  return set;
}

void for_each_block(const TextSet& set,
                    const std::function<void(std::span<const std::string>)>& take) {
  Blocks blocks(take);
  if (set.name == "code_points@1") {
    code_points(blocks, false);
  } else if (set.name == "code_points_in_context@1") {
    code_points(blocks, true);
  } else if (set.name == "long_words@1") {
    long_words(blocks);
  } else if (set.name == "random_texts@1") {
    Draw draw(set.seed);
    for (std::int64_t i = 0; i < set.count; ++i) blocks.add(random_text(draw));
  } else {
    throw std::invalid_argument("[text set] there is no set \"" + set.name + "\"");
  }
  blocks.flush();
}

void for_each_block(const IdSet& set, const std::function<void(std::span<const TokenIds>)>& take) {
  Draw draw(set.seed);
  std::vector<TokenIds> block;
  const auto span = static_cast<std::uint64_t>(set.below - set.from);
  for (std::int64_t i = 0; i < set.count; ++i) {
    TokenIds ids(draw.below(12));
    for (std::int32_t& id : ids) id = set.from + static_cast<std::int32_t>(draw.below(span));
    block.push_back(std::move(ids));
    if (block.size() >= kBlockTexts || i + 1 == set.count) {
      take(block);
      block.clear();
    }
  }
}

}  // namespace octlm::experiments
