// A text passes through: added tokens cut out -> NFC -> normalised added tokens cut out -> pieces
// -> BPE. The first and third step, and who may take part in them, are all that the modes differ
// in.
#include "model/tokenizer/tokenizer.h"

#include <algorithm>
#include <map>
#include <stdexcept>

#include "formats/quoted.h"
#include "formats/utf8.h"
#include "model/tokenizer/added_tokens.h"
#include "model/tokenizer/bpe.h"
#include "model/tokenizer/nfc.h"
#include "model/tokenizer/tokenizer_config.h"
#include "model/tokenizer/tokenizer_file.h"

namespace octlm::model {
namespace {

std::string byte_name(std::uint8_t byte) { return "0x" + formats::hex_byte(byte); }

void require_utf8(std::string_view text) {
  const std::size_t at = formats::find_invalid_utf8(text);
  if (at == std::string_view::npos) return;
  throw std::invalid_argument("[tokenizer] the text is not UTF-8: byte " + std::to_string(at) +
                              " is " + byte_name(static_cast<std::uint8_t>(text[at])));
}

}  // namespace

struct Tokenizer::Data {
  TokenizerFile file;
  std::vector<AddedToken> added_tokens;
  Bpe bpe;
  AddedTokenSet as_written, normalized;
  std::vector<std::int32_t> special_ids;

  // Bytes of id i are [text_begin[i], text_begin[i + 1]) of texts.
  std::string texts;
  std::vector<std::uint32_t> text_begin;
  std::vector<bool> special;  // [id]
  bool merges_make_special = false;

  explicit Data(TokenizerFile read)
      : file(std::move(read)), bpe(file.vocabulary, std::move(file.merges), file.ignore_merges) {
    TokenId end = file.vocabulary.id_end();
    added_tokens = file.added.tokens();
    for (const AddedToken& token : added_tokens) end = std::max(end, token.id + 1);
    special.resize(static_cast<std::size_t>(end));
    for (const AddedToken& token : added_tokens) {
      if (!token.special) continue;
      special[static_cast<std::size_t>(token.id)] = true;
      special_ids.push_back(token.id);
      bpe.never_whole(token.id);
    }
    std::sort(special_ids.begin(), special_ids.end());
    for (const Merge& merge : bpe.merges())
      merges_make_special |= special[static_cast<std::size_t>(merge.result)];
    for (const TokenId id : special_ids)
      merges_make_special |= file.vocabulary.bytes(id).size() == 1;
    collect_texts(end);
  }

  void collect_texts(TokenId end) {
    std::vector<const AddedToken*> added(static_cast<std::size_t>(end));
    for (const AddedToken& token : added_tokens) added[static_cast<std::size_t>(token.id)] = &token;
    text_begin.reserve(static_cast<std::size_t>(end) + 1);
    for (TokenId id = 0; id < end; ++id) {
      text_begin.push_back(static_cast<std::uint32_t>(texts.size()));
      if (const AddedToken* token = added[static_cast<std::size_t>(id)]) {
        const std::size_t before = texts.size();
        if (!append_spelled_bytes(texts, token->content)) {
          texts.resize(before);
          texts += token->content;
        }
      } else {
        texts += file.vocabulary.bytes(id);
      }
    }
    text_begin.push_back(static_cast<std::uint32_t>(texts.size()));
  }

  std::string_view bytes_of(TokenId id) const {
    if (id < 0 || static_cast<std::size_t>(id) + 1 >= text_begin.size()) return {};
    const std::uint32_t begin = text_begin[static_cast<std::size_t>(id)];
    return std::string_view(texts).substr(begin,
                                          text_begin[static_cast<std::size_t>(id) + 1] - begin);
  }
  bool is_special(TokenId id) const {
    return id >= 0 && static_cast<std::size_t>(id) < special.size() &&
           special[static_cast<std::size_t>(id)];
  }
};

namespace {

// Fills `added` sets; apart from Data's constructor because it may refuse.
void fill(const TokenizerFile& file, const std::string& path, AddedTokenSet& as_written,
          AddedTokenSet& normalized) {
  std::map<TokenId, AddedToken> tokens;
  for (const AddedToken& token : file.added.tokens()) tokens.emplace(token.id, token);
  for (const AddedPattern& pattern : file.added.patterns()) {
    const AddedToken& token = tokens.at(pattern.id);
    if (!pattern.normalized) {
      as_written.add(token, pattern.content);
    } else {
      std::string content = file.normalizes_nfc ? nfc(pattern.content) : pattern.content;
      if (!normalized.add(token, std::move(content))) {
        throw std::runtime_error(path +
                                 ": added_tokens: two tokens are the same when normalised, id " +
                                 std::to_string(token.id) + " is the second");
      }
    }
  }
  as_written.finish();
  normalized.finish();
}

// Pieces of one text, as ids.
class Encoder {
 public:
  Encoder(const PreTokenizer& pre_tokenizer, const Bpe& bpe)
      : pre_tokenizer_(pre_tokenizer), bpe_(bpe) {}

  // What encode returns instead of a byte.
  static constexpr int kNothingLost = -1;
  static constexpr int kTextRemoved = -2;

  // Returns the first byte that was left out because no token spells it, or kNothingLost;
  // kTextRemoved when a Split threw text away.
  int encode(std::string_view text) {
    int lost = kNothingLost;
    pre_tokenizer_.run(
        text,
        [&](std::string_view piece) {
          const int missing = bpe_.encode(piece, scratch_, ids);
          if (missing >= 0 && lost == kNothingLost) lost = missing;
        },
        [&](std::string_view) { lost = kTextRemoved; });
    return lost;
  }

  std::vector<TokenId> ids;

 private:
  const PreTokenizer& pre_tokenizer_;
  const Bpe& bpe_;
  Bpe::Scratch scratch_;
};

// Calls between(begin, end) and token(id) in order.
template <typename Between, typename Token>
void cut(const std::vector<AddedTokenSet::Found>& found, std::size_t size, Between between,
         Token token) {
  std::size_t done = 0;
  for (const auto& match : found) {
    if (done < match.begin) between(done, match.begin);
    token(match.id);
    done = match.end;
  }
  if (done < size) between(done, size);
}

RenderedText slice(const RenderedText& text, std::size_t begin, std::size_t end) {
  RenderedText out;
  auto run =
      std::upper_bound(text.runs().begin(), text.runs().end(), begin,
                       [](std::size_t at, const RenderedText::Run& r) { return at < r.end; });
  for (; run != text.runs().end() && run->begin < end; ++run) {
    const std::size_t first = std::max(begin, run->begin), last = std::min(end, run->end);
    out.append(std::string_view(text.text()).substr(first, last - first), run->origin);
  }
  return out;
}

}  // namespace

Tokenizer Tokenizer::load(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / "tokenizer.json";
  TokenizerFile file = read_tokenizer_file(path);
  if (const auto config = read_tokenizer_config(folder)) apply(*config, file);
  auto data = std::make_shared<Data>(std::move(file));
  fill(data->file, path.string(), data->as_written, data->normalized);
  return Tokenizer(std::move(data));
}

std::vector<std::int32_t> Tokenizer::encode_literal(std::string_view text) const {
  require_utf8(text);
  Encoder encoder(data_->file.pre_tokenizer, data_->bpe);
  const int lost = encoder.encode(text);
  if (lost == Encoder::kTextRemoved)
    throw std::invalid_argument("[tokenizer] this tokenizer throws parts of the text away");
  if (lost >= 0) {
    throw std::invalid_argument("[tokenizer] the vocabulary has no token for the byte " +
                                byte_name(static_cast<std::uint8_t>(lost)) + ", first at byte " +
                                std::to_string(text.find(static_cast<char>(lost))) +
                                " of the text");
  }
  if (data_->merges_make_special) {
    for (const TokenId id : encoder.ids) {
      if (data_->is_special(id)) {
        throw std::invalid_argument("[tokenizer] ordinary text would become the special token " +
                                    std::to_string(id));
      }
    }
  }
  return std::move(encoder.ids);
}

std::vector<std::int32_t> Tokenizer::encode_rendered(const RenderedText& text) const {
  require_utf8(text.text());
  Encoder encoder(data_->file.pre_tokenizer, data_->bpe);
  const auto token = [&](TokenId id) { encoder.ids.push_back(id); };
  const auto plain = [&](std::string_view part) {
    const std::size_t before = encoder.ids.size();
    encoder.encode(part);
    if (!data_->merges_make_special) return;
    if (std::any_of(encoder.ids.begin() + static_cast<std::ptrdiff_t>(before), encoder.ids.end(),
                    [&](TokenId id) { return data_->is_special(id); })) {
      throw std::invalid_argument("[tokenizer] ordinary text would become a special token");
    }
  };
  const auto normalised = [&](const RenderedText& part) {
    cut(
        data_->normalized.find(part), part.text().size(),
        [&](std::size_t begin, std::size_t end) {
          plain(std::string_view(part.text()).substr(begin, end - begin));
        },
        token);
  };
  cut(
      data_->as_written.find(text), text.text().size(),
      [&](std::size_t begin, std::size_t end) {
        const std::string_view part = std::string_view(text.text()).substr(begin, end - begin);
        const bool changes = data_->file.normalizes_nfc && !is_surely_nfc(part);
        if (!changes && data_->normalized.empty()) {
          plain(part);
        } else {
          const RenderedText own = slice(text, begin, end);
          normalised(changes ? nfc(own) : own);
        }
      },
      token);
  return std::move(encoder.ids);
}

std::vector<std::int32_t> Tokenizer::encode_hf_compatible(std::string_view text) const {
  require_utf8(text);
  Encoder encoder(data_->file.pre_tokenizer, data_->bpe);
  const auto token = [&](TokenId id) { encoder.ids.push_back(id); };
  cut(
      data_->as_written.find(text), text.size(),
      [&](std::size_t begin, std::size_t end) {
        std::string_view part = text.substr(begin, end - begin);
        std::string composed;
        if (data_->file.normalizes_nfc && !is_surely_nfc(part)) part = composed = nfc(part);
        cut(
            data_->normalized.find(part), part.size(),
            [&](std::size_t first, std::size_t last) {
              encoder.encode(part.substr(first, last - first));
            },
            token);
      },
      token);
  return std::move(encoder.ids);
}

std::string Tokenizer::decode_bytes(std::span<const std::int32_t> ids,
                                    DecodeOptions options) const {
  std::size_t size = 0;
  const auto skipped = [&](TokenId id) { return options.skip_special && data_->is_special(id); };
  for (const TokenId id : ids) size += skipped(id) ? 0 : data_->bytes_of(id).size();
  std::string out(size, '\0');
  char* to = out.data();
  for (const TokenId id : ids) {
    if (skipped(id)) continue;
    const std::string_view bytes = data_->bytes_of(id);
    to += bytes.copy(to, bytes.size());
  }
  return out;
}

std::string Tokenizer::decode(std::span<const std::int32_t> ids, DecodeOptions options) const {
  std::string bytes = decode_bytes(ids, options);
  if (formats::find_invalid_utf8(bytes) == std::string_view::npos) return bytes;
  std::string out;
  out.reserve(bytes.size());
  formats::append_lossy(out, bytes);
  return out;
}

std::string_view Tokenizer::bytes_of(std::int32_t id) const { return data_->bytes_of(id); }

std::optional<std::string> Tokenizer::token_of(std::int32_t id) const {
  for (const AddedToken& token : data_->added_tokens) {
    if (token.id == id) return token.content;
  }
  if (!data_->file.vocabulary.contains(id)) return std::nullopt;
  return data_->file.vocabulary.symbols(id);
}

std::optional<std::int32_t> Tokenizer::id_of(std::string_view token) const {
  for (const AddedToken& added : data_->added_tokens) {
    if (added.content == token) return added.id;
  }
  if (formats::find_invalid_utf8(token) != std::string_view::npos) return std::nullopt;
  const TokenId id = data_->file.vocabulary.find(token);
  return id == kNoToken ? std::nullopt : std::optional(id);
}

bool Tokenizer::is_special(std::int32_t id) const { return data_->is_special(id); }
const std::vector<std::int32_t>& Tokenizer::special_ids() const { return data_->special_ids; }
std::int32_t Tokenizer::id_end() const {
  return static_cast<std::int32_t>(data_->text_begin.size()) - 1;
}
const std::vector<std::int32_t>& Tokenizer::template_prefix() const {
  return data_->file.template_prefix;
}
const std::vector<std::int32_t>& Tokenizer::template_suffix() const {
  return data_->file.template_suffix;
}

}  // namespace octlm::model
