#include "experiments/octlm_text_engine.h"

#include <optional>
#include <stdexcept>
#include <utility>

#include "model/chat_template/chat_template.h"
#include "model/tokenizer/incremental_decoder.h"
#include "model/tokenizer/tokenizer.h"

namespace octlm::experiments {
namespace {

using Ids = std::vector<std::int32_t>;

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
      if (mode == reference::TextMode::kLiteral) return {tokenizer_.encode_literal(text), ""};
      model::RenderedText by_template;
      by_template.append(text, model::Origin::kTemplate);
      return {tokenizer_.encode_rendered(by_template), ""};
    } catch (const std::invalid_argument& error) {
      return {{}, error.what()};
    }
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
    } catch (const std::exception& error) {  // a chat that is none, or that the template refuses
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
