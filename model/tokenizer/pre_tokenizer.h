// Cuts a text into the pieces that are encoded one by one: the steps of a tokenizer.json's
// pre_tokenizer.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/tokenizer/pattern.h"
#include "model/tokenizer/scanners.h"

namespace octlm::model {

// What becomes of a match (Hugging Face's SplitDelimiterBehavior). A match of an inverted Split is
// what the expression does not match.
enum class SplitBehavior { kIsolated, kRemoved, kMergedWithPrevious, kMergedWithNext, kContiguous };

struct PreTokenizerStep {
  // One of the two.
  Scanner scanner = nullptr;
  std::optional<Pattern> pattern;

  SplitBehavior behavior = SplitBehavior::kIsolated;
  bool invert = false;
};

struct PreTokenizer {
  std::vector<PreTokenizerStep> steps;
  // ByteLevel's: to every piece of the steps before it that has none.
  bool add_prefix_space = false;
  std::size_t steps_before_byte_level = 0;

  // Calls piece(std::string_view) in order; removed(std::string_view) for what a Split throws away.
  // REQUIRES: valid UTF-8.
  template <typename Piece, typename Removed>
  void run(std::string_view text, Piece piece, Removed removed) const {
    from_step(0, text, piece, removed);
  }

 private:
  template <typename Piece, typename Removed>
  void from_step(std::size_t index, std::string_view text, Piece& piece, Removed& removed) const {
    if (text.empty()) return;
    if (add_prefix_space && index == steps_before_byte_level && text.front() != ' ') {
      std::string spaced = " ";
      spaced += text;
      split_from(index, spaced, piece, removed);
    } else {
      split_from(index, text, piece, removed);
    }
  }

  template <typename Piece, typename Removed>
  void split_from(std::size_t index, std::string_view text, Piece& piece, Removed& removed) const {
    if (index == steps.size()) {
      piece(text);
      return;
    }
    const PreTokenizerStep& step = steps[index];
    if (step.scanner == nullptr) {
      split_by_pattern(
          step, text, [&](std::string_view part) { from_step(index + 1, part, piece, removed); },
          removed);
      return;
    }
    const bool last =
        index + 1 == steps.size() && !(add_prefix_space && steps_before_byte_level == steps.size());
    const char* const end = text.data() + text.size();
    for (const char* at = text.data(); at != end;) {
      const char* const next = step.scanner(at, end);
      const std::string_view part(at, static_cast<std::size_t>(next - at));
      if (last) {
        piece(part);
      } else {
        from_step(index + 1, part, piece, removed);
      }
      at = next;
    }
  }

  // The segments of a text, matches and what lies between, joined or not as the behaviour says.
  // `held` is the last one, which the next may still join.
  template <typename Part, typename Removed>
  static void split_by_pattern(const PreTokenizerStep& step, std::string_view text, Part part,
                               Removed& removed) {
    struct Segment {
      std::size_t begin, end;
      bool is_match;
    };
    std::optional<Segment> held;
    const auto emit = [&](const Segment& segment) {
      part(text.substr(segment.begin, segment.end - segment.begin));
    };
    const auto take = [&](std::size_t begin, std::size_t end, bool is_match) {
      if (begin == end) return;
      switch (step.behavior) {
        case SplitBehavior::kIsolated:
          emit({begin, end, is_match});
          return;
        case SplitBehavior::kRemoved:
          if (is_match) {
            removed(text.substr(begin, end - begin));
          } else {
            emit({begin, end, is_match});
          }
          return;
        case SplitBehavior::kContiguous:
          if (held && held->is_match == is_match) return void(held->end = end);
          break;
        case SplitBehavior::kMergedWithPrevious:
          if (held && is_match && !held->is_match) return void(*held = {held->begin, end, true});
          break;
        case SplitBehavior::kMergedWithNext:
          if (held && held->is_match && !is_match) return void(*held = {held->begin, end, false});
          break;
      }
      if (held) emit(*held);
      held = {begin, end, is_match};
    };
    Pattern::Search search(*step.pattern, text);
    Pattern::Match match;
    std::size_t done = 0;
    for (; search.next(done, match); done = match.end) {
      take(done, match.begin, step.invert);
      take(match.begin, match.end, !step.invert);
    }
    take(done, text.size(), step.invert);
    if (held) emit(*held);
  }
};

}  // namespace octlm::model
