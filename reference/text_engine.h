// One side of a comparison of text: a tokenizer and its chat template. As with engine.h, an
// experiment sees two of them and never asks which is ours.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "reference/engine.h"

namespace octlm::reference {

enum class TextMode {
  kLiteral,  // from outside: control strings are ordinary text, nothing is normalised
  kNative,   // written by a chat template: added tokens match, and the text is normalised
};

// What became of one text: its ids, or why it has none.
struct Encoding {
  std::vector<std::int32_t> ids;
  // Of literal text: begin and end of the characters that each id stands for, one after the other.
  // An id that is part of a character stands for all of it.
  std::vector<std::int32_t> spans;
  std::string refusal;  // "" when there are ids
};

enum class Decoding {
  kWhole,            // all ids at once
  kSkippingSpecial,  // the same without the tokens that are marked special
  kOneByOne,         // an id at a time, the pieces put together
};

// What became of one chat: its text and ids, or why it has none.
struct Rendering {
  std::string text;
  // A control token only where the template wrote all of it.
  std::vector<std::int32_t> ids;
  // Control tokens wherever their text stands, as Transformers makes them.
  std::vector<std::int32_t> compatible_ids;
  // False when this side cannot tell who wrote what, and has no `ids`.
  bool origin_known = true;
  std::string refusal;  // "" when there is a text
};

class TextEngine {
 public:
  virtual ~TextEngine() = default;
  virtual EngineDescription description() const = 0;

  // REQUIRES, for these: the texts are UTF-8. One answer for each, in order.
  virtual std::vector<Encoding> encode(std::span<const std::string> texts, TextMode mode) = 0;
  // Bytes that are no character are U+FFFD, ids without text are nothing.
  virtual std::vector<std::string> decode(std::span<const std::vector<std::int32_t>> ids,
                                          Decoding decoding) = 0;
  // Each chat is a JSON object: {"messages", "tools"?, "add_generation_prompt"?,
  // "enable_thinking"?}.
  virtual std::vector<Rendering> render(std::span<const std::string> chats) = 0;

  // The ids that ordinary text must not become.
  virtual std::vector<std::int32_t> control_ids() = 0;
  // A token as its file spells it; "" when there is none.
  virtual std::string token(std::int32_t id) = 0;
};

}  // namespace octlm::reference
