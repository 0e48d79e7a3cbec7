#include "model/tokenizer/tokenizer_file.h"

#include <simdjson.h>

#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "formats/nearest_name.h"
#include "model/checkpoint_json.h"

namespace octlm::model {
namespace {

namespace dom = simdjson::dom;

constexpr std::size_t kLargestFile = 1u << 30;
constexpr std::size_t kMaxDepth = 64;
constexpr std::size_t kMaxAddedToken = 4096;  // bytes

// A value and where it stands: "model.merges[3]".
class Node {
 public:
  Node(dom::element value, const std::string& file, std::string place)
      : value_(value), file_(&file), place_(std::move(place)) {}

  [[noreturn]] void refuse(const std::string& what) const {
    model::refuse(*file_ + (place_.empty() ? "" : ": " + place_), what);
  }

  bool is_null() const { return value_.is_null(); }
  const std::string& file() const { return *file_; }
  const std::string& place() const { return place_; }

  std::string_view string() const {
    std::string_view out;
    if (value_.get_string().get(out) != simdjson::SUCCESS) wrong_type("a string");
    return out;
  }
  void one_of(std::initializer_list<std::string_view> values) const {
    if (std::find(values.begin(), values.end(), string()) == values.end())
      refuse("unknown value " + in_quotes(string()));
  }
  bool boolean() const {
    bool out = false;
    if (value_.get_bool().get(out) != simdjson::SUCCESS) wrong_type("true or false");
    return out;
  }
  TokenId token_id() const {
    std::uint64_t out = 0;
    if (value_.get_uint64().get(out) != simdjson::SUCCESS || !value_.is<std::uint64_t>())
      wrong_type("a token id");
    if (out >= static_cast<std::uint64_t>(Vocabulary::kIdLimit)) {
      refuse("token id " + std::to_string(out) + " is out of range, expected less than " +
             std::to_string(Vocabulary::kIdLimit));
    }
    return static_cast<TokenId>(out);
  }
  dom::array array() const {
    dom::array out;
    if (value_.get_array().get(out) != simdjson::SUCCESS) wrong_type("an array");
    return out;
  }
  dom::object object() const {
    dom::object out;
    if (value_.get_object().get(out) != simdjson::SUCCESS) wrong_type("an object");
    return out;
  }
  bool is_object() const { return value_.is_object(); }
  bool is_string() const { return value_.is_string(); }

  Node item(std::size_t index, dom::element value) const {
    return {value, *file_, place_ + "[" + std::to_string(index) + "]"};
  }
  Node member(std::string_view name, dom::element value) const {
    return {value, *file_, place_.empty() ? std::string(name) : place_ + "." + std::string(name)};
  }

 private:
  [[noreturn]] void wrong_type(const char* expected) const {
    std::string text = simdjson::minify(value_);
    refuse("expected " + std::string(expected) + ", found " + in_quotes(text));
  }

  dom::element value_;
  const std::string* file_;
  std::string place_;
};

// The members of an object, each of which must be asked for, once.
class Members {
 public:
  Members(const Node& node, std::initializer_list<std::string_view> known) : node_(node) {
    for (const auto [name, value] : node.object()) {
      if (std::find(known.begin(), known.end(), name) == known.end()) {
        const std::string nearest =
            formats::nearest_name(name, std::span(known.begin(), known.size()));
        node.refuse("unknown field " + in_quotes(name) +
                    (nearest.empty() ? "" : ", did you mean '" + nearest + "'?"));
      }
      for (const auto& [other, _] : found_) {
        if (other == name) node.refuse("duplicate field " + in_quotes(name));
      }
      found_.emplace_back(name, value);
    }
  }

  std::optional<Node> optional(std::string_view name) const {
    for (const auto& [other, value] : found_) {
      if (other == name) return node_.member(name, value);
    }
    return std::nullopt;
  }
  Node required(std::string_view name) const {
    auto found = optional(name);
    if (!found) node_.refuse("the field '" + std::string(name) + "' is missing");
    return *found;
  }
  bool boolean(std::string_view name, bool otherwise) const {
    const auto found = optional(name);
    return found ? found->boolean() : otherwise;
  }

 private:
  const Node& node_;
  std::vector<std::pair<std::string_view, dom::element>> found_;
};

std::string_view type_of(const Node& node) {
  std::string_view type;
  for (const auto [name, value] : node.object()) {
    if (name == "type") type = node.member(name, value).string();
  }
  if (type.empty()) node.refuse("the field 'type' is missing");
  return type;
}

[[noreturn]] void refuse_component(const Node& node, const char* kind, std::string_view type) {
  node.refuse(std::string(kind) + " of type " + in_quotes(type) + " is not supported");
}

// normalizer

void read_normalizer(const Node& node, TokenizerFile& out) {
  if (node.is_null()) return;
  const std::string_view type = type_of(node);
  if (type == "NFC") {
    Members(node, {"type"});
    out.normalizes_nfc = true;
  } else if (type == "Sequence") {
    const Members members(node, {"type", "normalizers"});
    const Node list = members.required("normalizers");
    std::size_t index = 0;
    for (const dom::element part : list.array()) {
      const Node item = list.item(index++, part);
      if (type_of(item) == "Sequence") item.refuse("a Sequence in a Sequence is not supported");
      read_normalizer(item, out);
    }
  } else {
    refuse_component(node, "a normalizer", type);
  }
}

// pre_tokenizer

SplitBehavior read_behavior(const Node& node) {
  const std::string_view name = node.string();
  if (name == "Isolated") return SplitBehavior::kIsolated;
  if (name == "Removed") return SplitBehavior::kRemoved;
  if (name == "MergedWithPrevious") return SplitBehavior::kMergedWithPrevious;
  if (name == "MergedWithNext") return SplitBehavior::kMergedWithNext;
  if (name == "Contiguous") return SplitBehavior::kContiguous;
  node.refuse("unknown behavior " + in_quotes(name));
}

PreTokenizerStep read_split(const Node& node) {
  const Members members(node, {"type", "pattern", "behavior", "invert"});
  PreTokenizerStep step;
  step.behavior = read_behavior(members.required("behavior"));
  step.invert = members.required("invert").boolean();
  const Node pattern = members.required("pattern");
  const Members kinds(pattern, {"Regex", "String"});
  const auto regex = kinds.optional("Regex"), string = kinds.optional("String");
  if (regex.has_value() == string.has_value())
    pattern.refuse("expected one of 'Regex' and 'String'");
  const Node& given = regex ? *regex : *string;
  try {
    if (regex) {
      // A known expression matches everything: isolated, or inverted and the (empty) rest removed.
      const bool keeps_matches = (step.behavior == SplitBehavior::kIsolated) ||
                                 (step.behavior == SplitBehavior::kRemoved && step.invert);
      if (keeps_matches) step.scanner = known_scanner(given.string());
      if (step.scanner == nullptr) step.pattern = Pattern::regex(given.string());
    } else {
      step.pattern = Pattern::literal(given.string());
    }
  } catch (const std::runtime_error& error) {
    given.refuse(error.what());
  }
  return step;
}

void read_pre_tokenizer(const Node& node, bool nested, bool& byte_level, PreTokenizer& out) {
  const std::string_view type = type_of(node);
  if (byte_level) node.refuse("nothing may follow ByteLevel");
  if (type == "Sequence") {
    if (nested) node.refuse("a Sequence in a Sequence is not supported");
    const Members members(node, {"type", "pretokenizers"});
    const Node list = members.required("pretokenizers");
    std::size_t index = 0;
    for (const dom::element part : list.array()) {
      read_pre_tokenizer(list.item(index++, part), true, byte_level, out);
    }
  } else if (type == "Split") {
    out.steps.push_back(read_split(node));
  } else if (type == "Digits") {
    const bool individual =
        Members(node, {"type", "individual_digits"}).required("individual_digits").boolean();
    out.steps.push_back(
        {.scanner = individual ? scan_individual_digits : scan_contiguous_digits, .pattern = {}});
  } else if (type == "ByteLevel") {
    const Members members(node, {"type", "add_prefix_space", "trim_offsets", "use_regex"});
    out.add_prefix_space = members.required("add_prefix_space").boolean();
    members.required("trim_offsets").boolean();  // about offsets only
    out.steps_before_byte_level = out.steps.size();
    if (members.boolean("use_regex", true))
      out.steps.push_back({.scanner = scan_gpt2, .pattern = {}});
    byte_level = true;
  } else {
    refuse_component(node, "a pre_tokenizer", type);
  }
  if (out.steps.size() > 16) node.refuse("more than 16 steps");
}

// decoder, post_processor

void read_decoder(const Node& node) {
  if (node.is_null()) node.refuse("a tokenizer without a ByteLevel decoder is not supported");
  const std::string_view type = type_of(node);
  if (type != "ByteLevel") refuse_component(node, "a decoder", type);
  const Members members(node, {"type", "add_prefix_space", "trim_offsets", "use_regex"});
  for (const char* name : {"add_prefix_space", "trim_offsets", "use_regex"})
    members.boolean(name, false);
}

TokenId token_by_name(const Node& node, std::string_view name, const TokenizerFile& file) {
  if (const AddedToken* token = file.added.find(name)) return token->id;
  const TokenId id = file.vocabulary.find(name);
  if (id == kNoToken) node.refuse("the token " + in_quotes(name) + " is in no vocabulary");
  return id;
}

// {"id": "<s>", "ids": [1], "tokens": ["<s>"]}
std::vector<TokenId> read_template_token(const Node& node, const TokenizerFile& file) {
  const Members members(node, {"id", "ids", "tokens"});
  std::vector<TokenId> ids;
  const Node list = members.required("ids"), names = members.required("tokens");
  std::vector<std::string_view> tokens;
  std::size_t index = 0;
  for (const dom::element name : names.array())
    tokens.push_back(names.item(index++, name).string());
  index = 0;
  for (const dom::element id : list.array()) {
    const Node item = list.item(index, id);
    ids.push_back(item.token_id());
    if (index >= tokens.size() || token_by_name(item, tokens[index], file) != ids.back()) {
      item.refuse("does not agree with 'tokens'");
    }
    ++index;
  }
  if (index != tokens.size()) list.refuse("does not agree with 'tokens'");
  return ids;
}

void read_template(const Node& node, TokenizerFile& out) {
  const Members members(node, {"type", "single", "pair", "special_tokens"});
  members.required("pair").array();  // octlm encodes no pairs
  const Node specials = members.required("special_tokens"), single = members.required("single");
  specials.object();
  bool after_text = false;
  std::size_t index = 0;
  for (const dom::element element : single.array()) {
    const Node item = single.item(index++, element);
    const Members kinds(item, {"SpecialToken", "Sequence"});
    const auto special = kinds.optional("SpecialToken"), sequence = kinds.optional("Sequence");
    if (special.has_value() == sequence.has_value())
      item.refuse("expected one of 'SpecialToken' and 'Sequence'");
    const Node& given = special ? *special : *sequence;
    const Members fields(given, {"id", "type_id"});
    const std::string_view id = fields.required("id").string();
    fields.required("type_id").token_id();
    if (sequence) {
      if (id != "A" || after_text) given.refuse("expected the sequence A, once");
      after_text = true;
      continue;
    }
    std::optional<std::vector<TokenId>> ids;
    for (const auto [name, value] : specials.object()) {
      if (name == id) ids = read_template_token(specials.member(name, value), out);
    }
    if (!ids) given.refuse("the token " + in_quotes(id) + " is not among special_tokens");
    auto& place = after_text ? out.template_suffix : out.template_prefix;
    place.insert(place.end(), ids->begin(), ids->end());
  }
  if (!after_text) single.refuse("the sequence A is missing");
}

void read_post_processor(const Node& node, bool nested, TokenizerFile& out) {
  if (node.is_null()) return;
  const std::string_view type = type_of(node);
  if (type == "ByteLevel") {  // about offsets only
    const Members members(node, {"type", "add_prefix_space", "trim_offsets", "use_regex"});
    for (const char* name : {"add_prefix_space", "trim_offsets", "use_regex"})
      members.boolean(name, false);
  } else if (type == "TemplateProcessing") {
    if (!out.template_prefix.empty() || !out.template_suffix.empty())
      node.refuse("a second template");
    read_template(node, out);
  } else if (type == "Sequence" && !nested) {
    const Members members(node, {"type", "processors"});
    const Node list = members.required("processors");
    std::size_t index = 0;
    for (const dom::element part : list.array())
      read_post_processor(list.item(index++, part), true, out);
  } else {
    refuse_component(node, "a post_processor", type);
  }
}

// model

void require_absent_or_empty(const Members& members, std::string_view name) {
  const auto found = members.optional(name);
  if (!found || found->is_null()) return;
  if (found->string().empty()) return;
  found->refuse("is not supported");
}

void read_dropout(const Members& members) {
  const auto found = members.optional("dropout");
  if (found && !found->is_null()) found->refuse("is not supported");
}

void read_vocabulary(const Node& node, Vocabulary& out) {
  const dom::object tokens = node.object();
  out = Vocabulary(tokens.size());
  for (const auto [token, value] : tokens) {
    std::uint64_t number = 0;
    const bool is_id =
        value.is<std::uint64_t>() && value.get_uint64().get(number) == simdjson::SUCCESS;
    const TokenId id = is_id && number < static_cast<std::uint64_t>(Vocabulary::kIdLimit)
                           ? static_cast<TokenId>(number)
                           : node.member(in_quotes(token), value).token_id();  // which refuses
    if (token.empty()) node.refuse("an empty token");
    switch (out.add(token, id)) {
      case Vocabulary::Added::kYes:
        break;
      case Vocabulary::Added::kDuplicateToken:
        node.refuse("duplicate token " + in_quotes(token));
      case Vocabulary::Added::kDuplicateId:
        node.refuse("id " + std::to_string(id) + " belongs to " + in_quotes(out.symbols(id)) +
                    " and to " + in_quotes(token));
    }
  }
}

// "a b" or ["a", "b"], the same way throughout.
class MergeReader {
 public:
  MergeReader(const Node& node, const Vocabulary& vocabulary)
      : node_(node), vocabulary_(vocabulary) {}

  std::vector<Merge> read() {
    const dom::array list = node_.array();
    std::vector<Merge> merges;
    merges.reserve(list.size());
    std::unordered_set<std::uint64_t> pairs;
    pairs.reserve(list.size());
    for (const dom::element element : list) {
      index_ = merges.size();
      const auto [left, right] = parts(element);
      const Merge merge{part(left), part(right), result(left, right)};
      const auto key = std::uint64_t{static_cast<std::uint32_t>(merge.left)} << 32 |
                       static_cast<std::uint32_t>(merge.right);
      if (!pairs.insert(key).second)
        refuse("the pair " + in_quotes(left) + ", " + in_quotes(right) + " twice");
      merges.push_back(merge);
    }
    return merges;
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    model::refuse(node_.file() + ": " + node_.place() + "[" + std::to_string(index_) + "]", what);
  }

  std::pair<std::string_view, std::string_view> parts(dom::element element) {
    if (index_ == 0) spelled_in_one_ = element.is_string();
    if (spelled_in_one_) {
      std::string_view both;
      if (element.get_string().get(both) != simdjson::SUCCESS)
        refuse("expected a string, like the first merge");
      const std::size_t space = both.find(' ');
      if (space == std::string_view::npos || both.find(' ', space + 1) != std::string_view::npos) {
        refuse("expected two parts with one space between, found " + in_quotes(both));
      }
      if (both.starts_with("#version")) refuse("a merge that Hugging Face takes for a comment");
      return {both.substr(0, space), both.substr(space + 1)};
    }
    dom::array pair;
    std::string_view left, right;
    if (element.get_array().get(pair) != simdjson::SUCCESS || pair.size() != 2 ||
        pair.at(0).get_string().get(left) != simdjson::SUCCESS ||
        pair.at(1).get_string().get(right) != simdjson::SUCCESS) {
      refuse("expected an array of two strings");
    }
    return {left, right};
  }

  TokenId part(std::string_view symbols) {
    if (symbols.empty()) refuse("an empty part, which would merge for ever");
    const TokenId id = vocabulary_.find(symbols);
    if (id == kNoToken) refuse("the part " + in_quotes(symbols) + " is not in the vocabulary");
    return id;
  }

  TokenId result(std::string_view left, std::string_view right) {
    joined_.assign(left).append(right);
    const TokenId id = vocabulary_.find(joined_);
    if (id == kNoToken) refuse("the result " + in_quotes(joined_) + " is not in the vocabulary");
    return id;
  }

  const Node& node_;
  const Vocabulary& vocabulary_;
  std::size_t index_ = 0;
  bool spelled_in_one_ = false;
  std::string joined_;
};

void read_model(const Node& node, TokenizerFile& out) {
  const Members members(
      node, {"type", "dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix",
             "fuse_unk", "byte_fallback", "ignore_merges", "vocab", "merges"});
  if (const auto type = members.optional("type");
      type && type->string() != "BPE") {  // older files have none
    refuse_component(node, "a model", type->string());
  }
  read_dropout(members);
  require_absent_or_empty(members, "continuing_subword_prefix");
  require_absent_or_empty(members, "end_of_word_suffix");
  if (members.boolean("byte_fallback", false))
    members.required("byte_fallback").refuse("is not supported");
  members.boolean("fuse_unk", false);  // about unk_token only
  out.ignore_merges = members.boolean("ignore_merges", false);
  read_vocabulary(members.required("vocab"), out.vocabulary);
  const Node merges = members.required("merges");
  out.merges = MergeReader(merges, out.vocabulary).read();
  if (const auto unknown = members.optional("unk_token"); unknown && !unknown->is_null()) {
    unknown->string();
    for (unsigned byte = 0; byte < 256; ++byte) {
      const char c = static_cast<char>(byte);
      if (out.vocabulary.find_bytes(&c, 1) == kNoToken) {
        unknown->refuse("is not supported in a vocabulary that lacks byte " + std::to_string(byte));
      }
    }
  }
}

// added_tokens

AddedToken read_added_token(const Node& node) {
  const Members members(
      node, {"id", "content", "single_word", "lstrip", "rstrip", "normalized", "special"});
  AddedToken token;
  token.id = members.required("id").token_id();
  token.content = members.required("content").string();
  token.single_word = members.required("single_word").boolean();
  token.lstrip = members.required("lstrip").boolean();
  token.rstrip = members.required("rstrip").boolean();
  token.normalized = members.required("normalized").boolean();
  token.special = members.required("special").boolean();
  if (token.content.empty()) node.refuse("an empty added token");
  if (token.content.size() > kMaxAddedToken) node.refuse("an added token of more than 4096 bytes");
  return token;
}

// Hugging Face gives a new token the next free id, whatever the file says; where it says another,
// no one could tell what was meant.
void read_added_tokens(const Node& node, TokenizerFile& out) {
  std::unordered_set<std::string> contents;
  std::unordered_set<TokenId> ids;
  const auto vocabulary_size = static_cast<TokenId>(out.vocabulary.size());
  TokenId last = kNoToken;
  std::size_t index = 0;
  std::vector<AddedToken> tokens;
  for (const dom::element element : node.array()) {
    const Node item = node.item(index++, element);
    AddedToken token = read_added_token(item);
    if (!contents.insert(token.content).second)
      item.refuse("duplicate token " + in_quotes(token.content));
    if (!ids.insert(token.id).second) item.refuse("duplicate id " + std::to_string(token.id));
    const TokenId known = out.vocabulary.find(token.content);
    const TokenId expected = known != kNoToken ? known : std::max(vocabulary_size, last + 1);
    if (token.id != expected) {
      item.refuse(in_quotes(token.content) + " has id " + std::to_string(token.id) + ", expected " +
                  std::to_string(expected) +
                  (known != kNoToken ? ", its id in the vocabulary" : ", the next free id"));
    }
    if (known == kNoToken) {
      if (out.vocabulary.contains(token.id))
        item.refuse("id " + std::to_string(token.id) + " is taken in the vocabulary");
      last = token.id;
    }
    tokens.push_back(std::move(token));
  }
  out.added.add(out.vocabulary, tokens);
}

// truncation, padding: training scripts leave them in the file (duckdb quackformers#83,
// MinishLab/model2vec#374). Transformers switches both off for every text, so they change no ids;
// the padding's token may become pad_token (tokenizer_config.h).

void read_truncation(const Node& node) {
  if (node.is_null()) return;
  const Members members(node, {"direction", "max_length", "strategy", "stride"});
  members.required("max_length").token_id();
  members.required("stride").token_id();
  members.required("strategy").one_of({"LongestFirst", "OnlyFirst", "OnlySecond"});
  if (const auto direction = members.optional("direction")) direction->one_of({"Left", "Right"});
}

void read_padding(const Node& node, TokenizerFile& out) {
  if (node.is_null()) return;
  const Members members(
      node, {"strategy", "direction", "pad_to_multiple_of", "pad_id", "pad_type_id", "pad_token"});
  const Node strategy = members.required("strategy");
  if (strategy.is_object()) {
    Members(strategy, {"Fixed"}).required("Fixed").token_id();
  } else {
    strategy.one_of({"BatchLongest"});
  }
  members.required("direction").one_of({"Left", "Right"});
  members.required("pad_id").token_id();
  members.required("pad_type_id").token_id();
  out.padding_token = std::string(members.required("pad_token").string());
}

void read_root(const Node& root, TokenizerFile& out) {
  const Members members(root, {"version", "truncation", "padding", "added_tokens", "normalizer",
                               "pre_tokenizer", "post_processor", "decoder", "model"});
  if (const auto version = members.optional("version"); version && version->string() != "1.0") {
    version->refuse("expected \"1.0\", found " + in_quotes(version->string()));
  }
  if (const auto truncation = members.optional("truncation")) read_truncation(*truncation);
  if (const auto padding = members.optional("padding")) read_padding(*padding, out);
  read_model(members.required("model"), out);
  read_added_tokens(members.required("added_tokens"), out);
  read_normalizer(members.required("normalizer"), out);
  const Node pre_tokenizer = members.required("pre_tokenizer");
  if (pre_tokenizer.is_null())
    pre_tokenizer.refuse("a tokenizer without ByteLevel is not supported");
  out.byte_level_alone = type_of(pre_tokenizer) == "ByteLevel";
  bool byte_level = false;
  read_pre_tokenizer(pre_tokenizer, false, byte_level, out.pre_tokenizer);
  if (!byte_level) pre_tokenizer.refuse("a tokenizer without ByteLevel is not supported");
  read_decoder(members.required("decoder"));
  read_post_processor(members.required("post_processor"), false, out);
}

}  // namespace

TokenizerFile read_tokenizer_file(const std::filesystem::path& path) {
  const std::string file = path.string();
  std::string text = formats::read_file(path, kLargestFile);
  const std::size_t size = text.size();
  text.append(simdjson::SIMDJSON_PADDING, '\0');
  dom::parser parser;
  dom::element root;
  if (const auto error = parser.allocate(std::max<std::size_t>(size, 64), kMaxDepth)) {
    refuse(file, std::string("cannot be parsed: ") + simdjson::error_message(error));
  }
  if (const auto error = parser.parse(text.data(), size, false).get(root)) {
    refuse(file, std::string("not JSON: ") + simdjson::error_message(error));
  }
  TokenizerFile out;
  read_root(Node(root, file, ""), out);
  return out;
}

}  // namespace octlm::model
