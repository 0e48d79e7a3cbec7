#include "experiments/engines/octlm_text_engine.h"

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <utility>

#include "model/chat_template/chat_template.h"
#include "model/tokenizer/incremental_decoder.h"
#include "model/tokenizer/tokenizer.h"

namespace octlm::experiments {
namespace {

using Ids = std::vector<std::int32_t>;

bool is_continuation(char byte) { return (static_cast<unsigned char>(byte) & 0xc0) == 0x80; }

class OctlmTextEngine final : public reference::TextEngine {
 public:
  explicit OctlmTextEngine(const std::filesystem::path& folder)
      : folder_(folder), tokenizer_(model::Tokenizer::load(folder)) {}

  reference::EngineDescription description() const override {
    return {"octlm", OCTLM_VERSION, "live", nlohmann::json::object()};
  }

  std::vector<reference::Encoding> encode(std::span<const std::string> texts,
                                          reference::TextMode mode) override {
    std::vector<reference::Encoding> encodings;
    encodings.reserve(texts.size());
    for (const std::string& text : texts) encodings.push_back(encode(text, mode));
    return encodings;
  }

  std::vector<std::string> decode(std::span<const Ids> ids, reference::Decoding decoding) override {
    std::vector<std::string> texts;
    texts.reserve(ids.size());
    for (const Ids& list : ids) texts.push_back(decode(list, decoding));
    return texts;
  }

  std::vector<reference::Rendering> render(std::span<const std::string> chats) override {
    if (!template_) template_ = model::ChatTemplate::load(folder_);
    std::vector<reference::Rendering> renderings;
    for (const std::string& chat : chats) renderings.push_back(render(chat));
    return renderings;
  }

  Ids control_ids() override { return tokenizer_.special_ids(); }
  std::string token(std::int32_t id) override { return tokenizer_.token_of(id).value_or(""); }

 private:
  // What one text is refused for is an answer to it.
  reference::Encoding encode(const std::string& text, reference::TextMode mode) const {
    try {
      if (mode == reference::TextMode::kLiteral) {
        Ids ids = tokenizer_.encode_literal(text);
        Ids spans = spans_of(ids, text);
        return {std::move(ids), std::move(spans), ""};
      }
      return {tokenizer_.encode_rendered(model::RenderedText::of_template(text)), {}, ""};
    } catch (const std::invalid_argument& error) {
      return {{}, {}, error.what()};
    }
  }

  // From the bytes that each id stands for, put one after the other along the text.
  Ids spans_of(const Ids& ids, const std::string& text) const {
    Ids spans;
    std::size_t at = 0;
    std::int32_t characters = 0;  // that begin before `at`
    for (const std::int32_t id : ids) {
      const std::size_t end = std::min(text.size(), at + tokenizer_.bytes_of(id).size());
      spans.push_back(at < text.size() && is_continuation(text[at]) ? characters - 1 : characters);
      for (; at < end; ++at) characters += is_continuation(text[at]) ? 0 : 1;
      spans.push_back(characters);
    }
    return spans;
  }

  std::string decode(const Ids& ids, reference::Decoding decoding) const {
    if (decoding == reference::Decoding::kOneByOne) {
      model::IncrementalDecoder decoder(tokenizer_);
      std::string text;
      for (const std::int32_t id : ids) text += decoder.push(id);
      return text + decoder.finish();
    }
    return tokenizer_.decode(ids,
                             {.skip_special = decoding == reference::Decoding::kSkippingSpecial});
  }

  reference::Rendering render(const std::string& chat) const {
    reference::Rendering rendering;
    try {
      const model::RenderedText text =
          template_->render(model::parse_chat_request(chat, "the chat"));
      rendering.text = text.text();
      rendering.ids = tokenizer_.encode_rendered(text);
      rendering.compatible_ids = tokenizer_.encode_hf_compatible(rendering.text);
    } catch (const std::exception& error) {  // not a chat, or the template refuses it
      rendering = {};
      rendering.refusal = error.what();
    }
    return rendering;
  }

  std::filesystem::path folder_;
  model::Tokenizer tokenizer_;
  std::optional<model::ChatTemplate> template_;
};

}  // namespace

std::unique_ptr<reference::TextEngine> make_octlm_text_engine(const std::filesystem::path& folder) {
  return std::make_unique<OctlmTextEngine>(folder);
}

}  // namespace octlm::experiments
