// tokenizer.json files of a few merges, for tests.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "formats/testing/temporary_folder.h"
#include "model/tokenizer/tokenizer.h"
#include "model/tokenizer/vocabulary.h"

namespace octlm::model::testing {

using Json = nlohmann::ordered_json;

inline constexpr const char* kQwenExpression =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}|)"
    R"( ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
inline constexpr const char* kLlamaExpression =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|)"
    R"( ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

inline Json byte_level(bool use_regex) {
  return {{"type", "ByteLevel"},
          {"add_prefix_space", false},
          {"trim_offsets", false},
          {"use_regex", use_regex}};
}

inline Json split(Json pattern, const char* behavior = "Isolated", bool invert = false) {
  return {{"type", "Split"},
          {"pattern", std::move(pattern)},
          {"behavior", behavior},
          {"invert", invert}};
}

inline Json sequence(Json first, Json second) {
  return {{"type", "Sequence"},
          {"pretokenizers", Json::array({std::move(first), std::move(second)})}};
}

inline Json added(int id, const char* content, bool special = true) {
  return {{"id", id},        {"content", content},  {"single_word", false}, {"lstrip", false},
          {"rstrip", false}, {"normalized", false}, {"special", special}};
}

// All 256 bytes are tokens 0 to 255 by their value; merge i makes token 256 + i. Parts are byte
// symbols.
inline Json tiny(const std::vector<std::pair<std::string, std::string>>& merges = {},
                 Json pre_tokenizer = sequence(split({{"Regex", kQwenExpression}}),
                                               byte_level(false))) {
  Json vocab = Json::object(), list = Json::array();
  for (int byte = 0; byte < 256; ++byte) vocab[byte_symbol(static_cast<std::uint8_t>(byte))] = byte;
  for (const auto& [left, right] : merges) {
    vocab[left + right] = vocab.size();
    list.push_back({left, right});
  }
  return {{"version", "1.0"},
          {"truncation", nullptr},
          {"padding", nullptr},
          {"added_tokens", Json::array()},
          {"normalizer", {{"type", "NFC"}}},
          {"pre_tokenizer", std::move(pre_tokenizer)},
          {"post_processor", nullptr},
          {"decoder", byte_level(true)},
          {"model",
           {{"type", "BPE"},
            {"dropout", nullptr},
            {"unk_token", nullptr},
            {"continuing_subword_prefix", ""},
            {"end_of_word_suffix", ""},
            {"fuse_unk", false},
            {"byte_fallback", false},
            {"ignore_merges", false},
            {"vocab", std::move(vocab)},
            {"merges", std::move(list)}}}};
}

// A folder that goes with the object.
class Folder : public formats::testing::TemporaryFolder {
 public:
  void write(const std::string& text) const { std::ofstream(path() / "tokenizer.json") << text; }
};

inline Tokenizer load_text(const std::string& text) {
  const Folder folder;
  folder.write(text);
  return Tokenizer::load(folder.path());
}

inline Tokenizer load(const Json& document) { return load_text(document.dump()); }

}  // namespace octlm::model::testing
