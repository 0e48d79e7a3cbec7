#include "model/tokenizer/tokenizer_config.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "model/checkpoint_json.h"
#include "model/tokenizer/added_vocabulary.h"

namespace octlm::model {
namespace {

using Ordered = nlohmann::ordered_json;

constexpr std::size_t kMaxConfigBytes = 64u << 20;
// SpecialTokensMixin.SPECIAL_TOKENS_ATTRIBUTES, in its order, then additional_special_tokens.
constexpr std::array<const char*, 7> kNames = {"bos_token", "eos_token", "unk_token", "sep_token",
                                               "pad_token", "cls_token", "mask_token"};
constexpr const char* kAdditional = "additional_special_tokens";

// What a class of Transformers does before the one that all derive from.
struct TokenizerClass {
  std::string_view name;  // without "Fast"
  std::vector<std::pair<const char*, const char*>> defaults;
  std::vector<const char*> flagged;  // a plain string of these becomes a token without strips
  bool sets_prefix_space = true;
};

const std::vector<TokenizerClass>& classes() {
  static const std::vector<TokenizerClass> kClasses = {
      {"PreTrainedTokenizer", {}, {}, true},
      {"Qwen2Tokenizer",
       {{"unk_token", "<|endoftext|>"},
        {"eos_token", "<|endoftext|>"},
        {"pad_token", "<|endoftext|>"}},
       {"bos_token", "eos_token", "unk_token", "pad_token"},
       true},
      {"GPT2Tokenizer",
       {{"unk_token", "<|endoftext|>"},
        {"bos_token", "<|endoftext|>"},
        {"eos_token", "<|endoftext|>"}},
       {},
       true},
      {"LlamaTokenizer",
       {{"unk_token", "<unk>"}, {"bos_token", "<s>"}, {"eos_token", "</s>"}},
       {},
       false},
  };
  return kClasses;
}

struct Document {
  std::string where;
  Ordered json;  // an object

  const Ordered* find(std::string_view name) const {
    const auto found = json.find(std::string(name));
    return found == json.end() ? nullptr : &*found;
  }
  bool has(std::string_view name) const {
    const Ordered* found = find(name);
    return found != nullptr && !found->is_null();
  }
  bool flag(std::string_view name) const {
    if (!has(name)) return false;
    if (!find(name)->is_boolean()) {
      refuse(where, std::string(name) + " must be true or false");
    }
    return find(name)->get<bool>();
  }
};

std::optional<Document> read_document(const std::filesystem::path& path) {
  if (!std::filesystem::exists(path)) return std::nullopt;
  const std::string text = formats::read_file(path, kMaxConfigBytes);
  Ordered json = formats::parse_strict_ordered(text, path.string(), kCheckpointJson);
  if (!json.is_object()) refuse(path.string(), "expected an object");
  return Document{path.string(), std::move(json)};
}

bool flag_of(const Ordered& token, const char* name, const std::string& where) {
  const auto found = token.find(name);
  if (found == token.end()) return false;
  if (!found->is_boolean()) refuse(where, std::string(name) + " must be true or false");
  return found->get<bool>();
}

// AddedToken(**token)
StatedToken flagged_token(const Ordered& token, const std::string& where) {
  StatedToken stated;
  const auto content = token.find("content");
  if (content != token.end()) {
    if (!content->is_string()) refuse(where, "content must be a string");
    stated.content = content->get<std::string>();
  }
  stated.single_word = flag_of(token, "single_word", where);
  stated.lstrip = flag_of(token, "lstrip", where);
  stated.rstrip = flag_of(token, "rstrip", where);
  stated.special = flag_of(token, "special", where);
  if (token.contains("normalized")) stated.normalized = flag_of(token, "normalized", where);
  return stated;
}

StatedToken text_token(std::string content) {
  StatedToken stated;
  stated.content = std::move(content);
  stated.is_text = true;
  return stated;
}

// A value of tokenizer_config.json. Transformers raises a TypeError for an object of no type.
StatedToken configured_token(const Ordered& value, const std::string& where) {
  if (value.is_string()) return text_token(value.get<std::string>());
  const bool typed =
      value.is_object() && value.contains("__type") && value["__type"] == "AddedToken";
  if (!typed) {
    refuse(where, "expected a string, or an object with \"__type\": \"AddedToken\", found " +
                      in_quotes(value.dump()));
  }
  return flagged_token(value, where);
}

// A value of special_tokens_map.json: objects have no type there, and are special.
StatedToken mapped_token(const Ordered& value, const std::string& where) {
  if (value.is_string()) return text_token(value.get<std::string>());
  if (!value.is_object()) refuse(where, "expected a string or an object");
  StatedToken stated = flagged_token(value, where);
  stated.special = true;
  stated.is_mapped = true;
  return stated;
}

bool normalized(const StatedToken& token) { return token.normalized.value_or(!token.special); }

// The named tokens while they are put together; a name that is present and empty is null.
struct Named {
  std::map<std::string, std::optional<StatedToken>> tokens;
  std::vector<StatedToken> additional;
  std::vector<std::pair<std::string, StatedToken>> extra;
  std::string last_mapped = "None";  // of special_tokens_map.json's additional_special_tokens
};

std::vector<StatedToken> token_list(const Ordered& list, const std::string& where,
                                    StatedToken (*read)(const Ordered&, const std::string&)) {
  if (!list.is_array()) refuse(where, std::string(kAdditional) + " must be a list");
  std::vector<StatedToken> tokens;
  for (const Ordered& item : list) {
    tokens.push_back(read(item, where + ": " + kAdditional));
  }
  return tokens;
}

void read_named(const Document& config, Named& named) {
  for (const char* name : kNames) {
    const Ordered* value = config.find(name);
    if (value == nullptr) continue;
    named.tokens[name] = value->is_null()
                             ? std::nullopt
                             : std::optional(configured_token(*value, config.where + ": " + name));
  }
  if (config.has(kAdditional)) {
    named.additional = token_list(*config.find(kAdditional), config.where, configured_token);
  }
  const Ordered* extra = config.find("extra_special_tokens");
  if (extra == nullptr) return;
  const std::string where = config.where + ": extra_special_tokens";
  if (!extra->is_object()) {
    refuse(where, "expected an object from name to token (Transformers 4.57.6 cannot load " +
                      std::string(extra->is_array() ? "a list" : "anything else") + ")");
  }
  for (const auto& [name, value] : extra->items()) {
    static constexpr std::string_view kTaken[] = {"messages", "tools", "documents",
                                                  "add_generation_prompt"};
    const bool taken = std::ranges::find(kTaken, name) != std::end(kTaken) ||
                       std::ranges::find(kNames, name) != kNames.end() || name == kAdditional ||
                       name.ends_with("_id") || name.ends_with("_ids");
    if (taken) refuse(where, "the name " + in_quotes(name) + " means something else");
    named.extra.emplace_back(name, configured_token(value, where + "." + name));
  }
}

// special_tokens_map.json, which is read when there is no added_tokens_decoder, and then wins.
void read_map(const Document& map, Named& named) {
  for (const char* name : kNames) {
    const Ordered* value = map.find(name);
    if (value == nullptr) continue;
    named.tokens[name] = value->is_null()
                             ? std::nullopt
                             : std::optional(mapped_token(*value, map.where + ": " + name));
  }
  if (!map.has(kAdditional)) return;
  for (StatedToken& token : token_list(*map.find(kAdditional), map.where, mapped_token)) {
    named.last_mapped = token.content;
    if (std::ranges::find(named.additional, token) == named.additional.end()) {
      named.additional.push_back(std::move(token));
    }
  }
}

std::int64_t index_of(const std::string& text, const std::string& where) {
  std::int64_t index = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), index);
  if (error != std::errc() || end != text.data() + text.size() || index < 0) {
    refuse(where, "expected a token id, found " + in_quotes(text));
  }
  return index;
}

void read_decoder(const Document& config, TokenizerConfig& out) {
  const std::string where = config.where + ": added_tokens_decoder";
  const Ordered& decoder = *config.find("added_tokens_decoder");
  if (!decoder.is_object()) refuse(where, "expected an object from id to token");
  for (const auto& [id, token] : decoder.items()) {
    const std::string place = where + "." + id;
    if (!token.is_object()) refuse(place, "expected an object");
    out.added_tokens_decoder[index_of(id, where)] = flagged_token(token, place);
  }
}

// added_tokens.json: {"<extra>": 151669}
void read_added(const Document& added, const Named& named, TokenizerConfig& out) {
  // Tokens with flags that tokenizer_config.json states are not recognised here.
  std::set<std::string> special;
  const auto note = [&](const StatedToken& token) {
    if (token.is_text || token.is_mapped) special.insert(token.content);
  };
  for (const auto& [name, token] : named.tokens) {
    if (token) note(*token);
  }
  for (const StatedToken& token : named.additional) note(token);
  for (const auto& [content, id] : added.json.items()) {
    if (!id.is_number_integer() || id.get<std::int64_t>() < 0) {
      refuse(added.where, in_quotes(content) + " has no token id");
    }
    StatedToken token;
    token.content = content;
    token.special = special.contains(content);
    token.normalized = !token.special;
    out.added_tokens_decoder[id.get<std::int64_t>()] = token;
    out.mistaken = {named.last_mapped, token};
  }
}

std::string text_of(const std::optional<Document>& document, std::string_view name) {
  if (!document || !document->has(name)) return "";
  if (!document->find(name)->is_string()) {
    refuse(document->where, std::string(name) + " must be a string");
  }
  return document->find(name)->get<std::string>();
}

const TokenizerClass& class_of(const std::optional<Document>& config,
                               const std::optional<Document>& model) {
  std::string name = text_of(config, "tokenizer_class");
  if (name.empty()) name = text_of(model, "tokenizer_class");
  const std::string type = text_of(model, "model_type");
  if (name.empty() && type == "llama") name = "LlamaTokenizer";
  if (name.empty() && type == "qwen3") name = "Qwen2Tokenizer";
  if (name.empty()) return classes().front();
  std::string_view plain = name;
  if (plain.ends_with("Fast")) plain.remove_suffix(4);
  const auto found = std::ranges::find(classes(), plain, &TokenizerClass::name);
  if (found == classes().end()) {
    refuse(config ? config->where : model->where,
           "tokenizer_class " + in_quotes(name) +
               " is not supported; supported: PreTrainedTokenizerFast, Qwen2Tokenizer, "
               "GPT2Tokenizer, LlamaTokenizer");
  }
  return *found;
}

// LlamaTokenizerFast.update_post_processor raises a ValueError.
void refuse_missing_ends(const std::string& where, const std::optional<Document>& config,
                         const std::vector<NamedSpecialToken>& special_tokens) {
  for (const auto& [flag, name, usual] : {std::tuple{"add_bos_token", "bos_token", true},
                                          std::tuple{"add_eos_token", "eos_token", false}}) {
    const bool adds = config && config->has(flag) ? config->flag(flag) : usual;
    const bool has =
        std::ranges::find(special_tokens, name, &NamedSpecialToken::name) != special_tokens.end();
    if (adds && !has) {
      refuse(where, std::string(flag) + " is true and there is no " + name +
                        ", which Transformers cannot load");
    }
  }
}

void refuse_unsupported(const Document& config, const TokenizerClass& kind) {
  for (const char* name : {"split_special_tokens", "fix_mistral_regex"}) {
    if (config.flag(name)) refuse(config.where, std::string(name) + ": true is not supported");
  }
  if (!kind.sets_prefix_space && config.has("add_prefix_space")) {
    refuse(config.where,
           "add_prefix_space: Transformers then converts LlamaTokenizer's own file instead of "
           "reading tokenizer.json, which is not supported");
  }
}

// In order; those that are null or empty are as if they were not there.
std::vector<NamedSpecialToken> in_order(const Named& named, const TokenizerClass& kind) {
  std::vector<NamedSpecialToken> all;
  for (const char* name : kNames) {
    const auto stated = named.tokens.find(name);
    const auto usual = std::ranges::find_if(
        kind.defaults, [&](const auto& one) { return std::string_view(one.first) == name; });
    NamedSpecialToken one{.name = name, .tokens = {}};
    one.flagged_if_text = std::ranges::find_if(kind.flagged, [&](std::string_view flagged) {
                            return flagged == name;
                          }) != kind.flagged.end();
    if (stated != named.tokens.end()) {
      if (!stated->second || stated->second->content.empty()) continue;
      one.tokens = {*stated->second};
      one.takes_flags = true;
    } else if (usual != kind.defaults.end()) {
      one.tokens = {text_token(usual->second)};
    } else {
      continue;
    }
    all.push_back(std::move(one));
  }
  if (!named.additional.empty()) {
    all.push_back({.name = kAdditional, .tokens = named.additional, .is_list = true});
  }
  for (const auto& [name, token] : named.extra) all.push_back({.name = name, .tokens = {token}});
  return all;
}

StatedToken stated(const AddedToken& token) {
  StatedToken same;
  same.content = token.content;
  same.single_word = token.single_word;
  same.lstrip = token.lstrip;
  same.rstrip = token.rstrip;
  same.normalized = token.normalized;
  same.special = token.special;
  return same;
}

AddedToken as_added(const StatedToken& token, bool special) {
  StatedToken marked = token;
  marked.special = special;
  return {kNoToken,           token.content, token.single_word, token.lstrip, token.rstrip,
          normalized(marked), special};
}

bool same_token(const StatedToken& a, const StatedToken& b) {
  return !a.is_text && !b.is_text && a.content == b.content && a.single_word == b.single_word &&
         a.lstrip == b.lstrip && a.rstrip == b.rstrip && normalized(a) == normalized(b) &&
         a.special == b.special;
}

// The named ones, each content once, as all_special_tokens_extended has them.
std::vector<StatedToken> all_special(const TokenizerConfig& config) {
  std::vector<StatedToken> all;
  std::set<std::string> seen;
  for (const NamedSpecialToken& named : config.special_tokens) {
    const std::set<std::string> before = seen;
    for (const StatedToken& token : named.tokens) {
      if (before.contains(token.content)) continue;
      all.push_back(token);
      seen.insert(token.content);
    }
  }
  return all;
}

// PreTrainedTokenizerFast takes the name from the padding of tokenizer.json.
void name_pad_token(const TokenizerFile& file, std::vector<NamedSpecialToken>& special_tokens) {
  if (!file.padding_token || file.padding_token->empty()) return;
  const auto is_after = [](const NamedSpecialToken& one) {
    return std::find(kNames.begin(), kNames.begin() + 4, one.name) == kNames.begin() + 4;
  };
  special_tokens.insert(std::ranges::find_if(special_tokens, is_after),
                        {.name = "pad_token", .tokens = {text_token(*file.padding_token)}});
}

// The flags of the added tokens that the files know, and the class's.
void settle_flags(const AddedVocabulary& file, TokenizerConfig& config) {
  std::map<std::string, StatedToken> known;
  for (const auto& [index, token] : config.added_tokens_decoder) known[token.content] = token;
  for (NamedSpecialToken& one : config.special_tokens) {
    if (one.is_list) continue;
    StatedToken& token = one.tokens.front();
    if (one.takes_flags && config.legacy) {
      if (const AddedToken* found = file.find(token.content)) {
        token = stated(*found);
      } else if (config.mistaken && config.mistaken->first == token.content) {
        token = config.mistaken->second;
      }
    } else if (one.takes_flags) {
      const auto found = known.find(token.content);
      if (found != known.end()) token = found->second;
    }
    if (!one.flagged_if_text || !token.is_text) continue;
    token.is_text = false;
    token.special = true;
    token.normalized = false;
  }
}

// What PreTrainedTokenizerFast.__init__ adds: first the tokens of added_tokens_decoder, then the
// named ones. A plain string is only added when there is none of it; a token with flags always,
// which changes its flags. Every token that has a name becomes special.
std::vector<AddedToken> tokens_to_add(const AddedVocabulary& file, const TokenizerConfig& config) {
  std::map<std::int64_t, StatedToken> decoder = config.added_tokens_decoder;
  std::set<std::string> known;
  for (const AddedToken& token : file.tokens()) {
    known.insert(token.content);
    if (config.legacy) decoder[token.id] = stated(token);
  }
  std::vector<StatedToken> to_add;
  for (const auto& [index, token] : decoder) to_add.push_back(token);
  for (const StatedToken& token : to_add) known.insert(token.content);
  const std::size_t of_decoder = to_add.size();
  std::set<std::string> special;
  for (const StatedToken& token : all_special(config)) {
    special.insert(token.content);
    const auto end = to_add.begin() + static_cast<std::ptrdiff_t>(of_decoder);
    const bool there =
        token.is_text ? known.contains(token.content)
                      : std::any_of(to_add.begin(), end,
                                    [&](const StatedToken& one) { return same_token(one, token); });
    if (!there) to_add.push_back(token);
  }
  std::vector<AddedToken> added;
  for (const StatedToken& token : to_add) {
    const bool is_special = (!token.is_text && token.special) || special.contains(token.content);
    added.push_back(as_added(token, is_special));
  }
  return added;
}

}  // namespace

std::optional<TokenizerConfig> read_tokenizer_config(const std::filesystem::path& folder) {
  const std::optional<Document> config = read_document(folder / "tokenizer_config.json");
  const std::optional<Document> model = read_document(folder / "config.json");
  if (!config && !model) return std::nullopt;
  const TokenizerClass& kind = class_of(config, model);

  TokenizerConfig out;
  Named named;
  if (config) {
    refuse_unsupported(*config, kind);
    read_named(*config, named);
  }
  out.legacy = !config || config->find("added_tokens_decoder") == nullptr;
  if (!out.legacy) {
    read_decoder(*config, out);
  } else {
    if (const auto map = read_document(folder / "special_tokens_map.json")) read_map(*map, named);
    if (const auto added = read_document(folder / "added_tokens.json")) {
      read_added(*added, named, out);
    }
  }
  out.special_tokens = in_order(named, kind);
  if (kind.name == "LlamaTokenizer") {
    refuse_missing_ends(config ? config->where : model->where, config, out.special_tokens);
  }
  out.padding_names_pad_token = !named.tokens.contains("pad_token") &&
                                std::ranges::none_of(kind.defaults, [](const auto& one) {
                                  return std::string_view(one.first) == "pad_token";
                                });
  if (kind.sets_prefix_space) {
    const Ordered* prefix = config ? config->find("add_prefix_space") : nullptr;
    if (prefix == nullptr) {
      out.add_prefix_space = false;
    } else if (!prefix->is_null()) {
      out.add_prefix_space = config->flag("add_prefix_space");
    }
  }
  return out;
}

void apply(const TokenizerConfig& stated_config, TokenizerFile& file) {
  TokenizerConfig config = stated_config;
  if (config.padding_names_pad_token) name_pad_token(file, config.special_tokens);
  settle_flags(file.added, config);
  file.added.add(file.vocabulary, tokens_to_add(file.added, config));
  if (file.byte_level_alone && config.add_prefix_space) {
    file.pre_tokenizer.add_prefix_space = *config.add_prefix_space;
  }
}

}  // namespace octlm::model
