// Test support: a tokenizer of a few lines. An id is a byte, 256 and 257 are the control tokens
// "<s>" and "</s>"; text from outside is bytes alone. A chat's template is "<s>" content "</s>" for
// each message.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "reference/text_engine.h"

namespace octlm::experiments::testing {

struct FakeTextEngine final : reference::TextEngine {
  using Ids = std::vector<std::int32_t>;
  static constexpr std::int32_t kOpen = 256, kClose = 257;

  // The planted faults: each changes an answer before it is given.
  std::function<void(const std::string& text, reference::Encoding&)> encode_fault = [](auto&,
                                                                                       auto&) {};
  std::function<void(reference::Decoding, std::string&)> decode_fault = [](auto, auto&) {};
  std::function<void(reference::Rendering&)> render_fault = [](auto&) {};

  reference::EngineDescription description() const override { return {"fake", "1", "live", {}}; }

  static Ids bytes(const std::string& text) {
    Ids ids;
    for (const char byte : text) ids.push_back(static_cast<unsigned char>(byte));
    return ids;
  }
  // Of each byte, the character that it belongs to.
  static Ids spans(const std::string& text) {
    Ids ends;
    std::int32_t characters = 0;
    for (const char byte : text) {
      if ((static_cast<unsigned char>(byte) & 0xc0) != 0x80) ++characters;
      ends.push_back(characters - 1);
      ends.push_back(characters);
    }
    return ends;
  }
  static Ids with_control(const std::string& text) {
    Ids ids;
    for (std::size_t at = 0; at < text.size();) {
      const bool open = text.compare(at, 3, "<s>") == 0, close = text.compare(at, 4, "</s>") == 0;
      ids.push_back(open ? kOpen : close ? kClose : static_cast<unsigned char>(text[at]));
      at += open ? 3 : close ? 4 : 1;
    }
    return ids;
  }

  std::vector<reference::Encoding> encode(std::span<const std::string> texts,
                                          reference::TextMode mode) override {
    std::vector<reference::Encoding> encodings;
    for (const std::string& text : texts) {
      encodings.push_back({mode == reference::TextMode::kLiteral ? bytes(text) : with_control(text),
                           spans(text), ""});
      if (text.find("refuse me") != std::string::npos)
        encodings.back() = {{}, {}, "it asks for it"};
      encode_fault(text, encodings.back());
    }
    return encodings;
  }

  std::vector<std::string> decode(std::span<const Ids> ids, reference::Decoding decoding) override {
    std::vector<std::string> texts;
    for (const Ids& list : ids) {
      std::string text;
      for (const std::int32_t id : list) {
        if (id < 256) text += static_cast<char>(id);
        if (id >= 256 && decoding != reference::Decoding::kSkippingSpecial) text += token(id);
      }
      decode_fault(decoding, text);
      texts.push_back(text);
    }
    return texts;
  }

  std::vector<reference::Rendering> render(std::span<const std::string> chats) override {
    std::vector<reference::Rendering> renderings;
    for (const std::string& chat : chats) {
      reference::Rendering rendering;
      const auto document = nlohmann::json::parse(chat);
      for (const auto& message : document.at("messages")) {
        const auto content = message.at("content").get<std::string>();
        rendering.text += "<s>" + content + "</s>";
        rendering.ids.push_back(kOpen);
        for (const std::int32_t id : bytes(content)) rendering.ids.push_back(id);
        rendering.ids.push_back(kClose);
      }
      rendering.compatible_ids = with_control(rendering.text);
      render_fault(rendering);
      renderings.push_back(rendering);
    }
    return renderings;
  }

  Ids control_ids() override { return {kOpen, kClose}; }
  std::string token(std::int32_t id) override {
    return id == kOpen    ? "<s>"
           : id == kClose ? "</s>"
           : id < 256     ? std::string(1, static_cast<char>(id))
                          : "";
  }
};

}  // namespace octlm::experiments::testing
