// Text of which every byte knows who wrote it. A chat template renders one; the tokenizer reads it,
// and lets an added token match only where every byte came from the template: what a user typed
// cannot become a control token (huggingface/transformers#29279, huggingface/tokenizers#1347).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace octlm::model {

enum class Origin : std::uint8_t {
  kUser,      // message contents, tool descriptions, everything that came from outside
  kTemplate,  // literal text of the chat template itself
};

class RenderedText {
 public:
  // Bytes [begin, end) of text() with one origin; neighbours differ in origin.
  struct Run {
    std::size_t begin = 0;
    std::size_t end = 0;
    Origin origin = Origin::kUser;
    friend bool operator==(const Run&, const Run&) = default;
  };

  // All of it written by the template.
  static RenderedText of_template(std::string_view text) {
    RenderedText made;
    made.append(text, Origin::kTemplate);
    return made;
  }

  void append(std::string_view bytes, Origin origin) {
    if (bytes.empty()) return;
    if (runs_.empty() || runs_.back().origin != origin) {
      runs_.push_back({text_.size(), text_.size(), origin});
    }
    text_ += bytes;
    runs_.back().end = text_.size();
  }

  void append(const RenderedText& other) {
    for (const Run& run : other.runs_) {
      append(std::string_view(other.text_).substr(run.begin, run.end - run.begin), run.origin);
    }
  }

  const std::string& text() const { return text_; }
  // In order, covering text() exactly.
  const std::vector<Run>& runs() const { return runs_; }

  // Did the template write every byte of [begin, end)? True for an empty range.
  bool from_template(std::size_t begin, std::size_t end) const {
    if (begin >= end) return true;
    const auto run = std::upper_bound(runs_.begin(), runs_.end(), begin,
                                      [](std::size_t at, const Run& r) { return at < r.end; });
    return run != runs_.end() && run->origin == Origin::kTemplate && end <= run->end;
  }

 private:
  std::string text_;
  std::vector<Run> runs_;
};

}  // namespace octlm::model
