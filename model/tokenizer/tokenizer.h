// Text to token ids and back, from a checkpoint's own tokenizer.json: byte-level BPE as Hugging
// Face's tokenizers library does it (docs/tokenizer.md has what is supported, and the two modes).
//
// There is one function for each kind of text, and no conversion between the kinds:
//   encode_literal(bytes)          text from outside. Never a control token, no normalisation;
//                                  decode_bytes gives the same bytes back.
//   encode_rendered(RenderedText)  a chat template's output, where every byte knows who wrote it.
//                                  An added token matches only where the template wrote all of it.
//   encode_hf_compatible(bytes)    as Transformers: added tokens match wherever they stand. Only
//                                  for text that nobody else could write into.
// None adds the special tokens of the post-processor (add_special_tokens=False): a chat template
// writes its own. See template_prefix.
//
// A Tokenizer is a handle to immutable data: copies are cheap, and threads may share one.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/rendered_text.h"

namespace octlm::model {

struct DecodeOptions {
  bool skip_special = false;  // leave out added tokens that are marked special
};

class Tokenizer {
 public:
  // From `folder`/tokenizer.json, and what the files beside it say of tokens (tokenizer_config.h).
  // Throws std::runtime_error with the file and the place in it.
  static Tokenizer load(const std::filesystem::path& folder);

  // All three throw std::invalid_argument when the text is not UTF-8, naming the byte.

  // Throws std::invalid_argument also when the vocabulary has no token for a byte of the text.
  std::vector<std::int32_t> encode_literal(std::string_view text) const;
  // A byte without a token is left out, as Hugging Face does.
  std::vector<std::int32_t> encode_rendered(const RenderedText& text) const;
  std::vector<std::int32_t> encode_hf_compatible(std::string_view text) const;

  // What the ids stand for. Ids without text (padding of the vocabulary, or none at all) give
  // nothing.
  std::string decode_bytes(std::span<const std::int32_t> ids, DecodeOptions options = {}) const;
  // The same with U+FFFD for bytes that are not UTF-8, as Hugging Face decodes.
  std::string decode(std::span<const std::int32_t> ids, DecodeOptions options = {}) const;

  // One token's bytes; "" when it has none.
  std::string_view bytes_of(std::int32_t id) const;
  // As spelled in tokenizer.json ("Ġthe"); nothing when there is no such token.
  std::optional<std::string> token_of(std::int32_t id) const;
  // The id of a token as spelled in tokenizer.json.
  std::optional<std::int32_t> id_of(std::string_view token) const;

  bool is_special(std::int32_t id) const;
  // Ids of the added tokens that are marked special, ascending.
  const std::vector<std::int32_t>& special_ids() const;
  // One more than the largest id that has text. A model's vocabulary may be larger.
  std::int32_t id_end() const;
  // What the post-processor puts before and after a text on its own, for a caller who wants that.
  const std::vector<std::int32_t>& template_prefix() const;
  const std::vector<std::int32_t>& template_suffix() const;

 private:
  struct Data;
  explicit Tokenizer(std::shared_ptr<const Data> data) : data_(std::move(data)) {}

  std::shared_ptr<const Data> data_;
};

}  // namespace octlm::model
