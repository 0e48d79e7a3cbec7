#include "experiments/kinds/text_comparison.h"

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <utility>

namespace octlm::experiments {
namespace {

constexpr std::size_t kTokensAround = 5;
constexpr std::size_t kBytesAround = 60;
constexpr const char* kIds = "ids_equal@1";
constexpr const char* kText = "text_equal@1";
constexpr const char* kRoundtrip = "roundtrip_equal@1";
constexpr const char* kOffsets = "offsets_equal@1";
constexpr const char* kControl = "control_ids_from_text@1";

template <class Body>
auto timed(double& seconds, Body&& body) {
  const auto start = std::chrono::steady_clock::now();
  auto result = std::forward<Body>(body)();
  seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

void count(verify::MetricValues& metrics, const char* metric, bool agrees) {
  auto& value = metrics.try_emplace(metric, verify::Agreement{}).first->second;
  auto& agreement = std::get<verify::Agreement>(value);
  agreement.agree += agrees ? 1 : 0;
  ++agreement.of;
}

// Where two sequences part; the shorter one's length when it is the other's beginning.
template <class Sequence>
std::size_t first_difference(const Sequence& a, const Sequence& b) {
  return static_cast<std::size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
}

bool inside_character(const std::string& text, std::size_t at) {
  return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80;
}

// The part of a text about a byte, in whole characters.
std::string text_around(const std::string& text, std::size_t at) {
  std::size_t begin = std::min(text.size(), at - std::min(at, kBytesAround));
  std::size_t end = std::min(text.size(), at + kBytesAround);
  while (begin > 0 && inside_character(text, begin)) --begin;
  while (inside_character(text, end)) ++end;
  return text.substr(begin, end - begin);
}

nlohmann::json side_json(const reference::EngineDescription& description) {
  return {{"engine", description.engine},
          {"version", description.version},
          {"source", description.source},
          {"settings", description.settings}};
}

}  // namespace

const std::vector<verify::MetricDefinition>& text_metrics() {
  using Type = verify::MetricDefinition::Type;
  using Better = verify::MetricDefinition::Better;
  static const std::vector<verify::MetricDefinition> definitions = {
      {kIds, "lists of ids equal to the reference's and to those that the spec states", "lists",
       Type::kAgreement, Better::kHigher},
      {kText, "texts equal to the reference's: of ids, and of chats", "texts", Type::kAgreement,
       Better::kHigher},
      {kRoundtrip, "texts that their literal ids give back byte for byte", "texts",
       Type::kAgreement, Better::kHigher},
      {kOffsets, "texts of which every id stands for the same characters", "texts",
       Type::kAgreement, Better::kHigher},
      {kControl, "ids of added tokens that no template wrote", "ids"},
  };
  return definitions;
}

// An item that was given, for the record of a difference.
struct TextComparison::Seen {
  std::int64_t index = 0;                // of all that the case gives
  const std::string* content = nullptr;  // the text or the chat
  const TokenIds* ids = nullptr;         // the ids, where those were given
};

const std::vector<verify::Scale>& text_scales() {
  static const std::vector<verify::Scale> scales = {{kIds, 1, {"literal", "native", "chat"}},
                                                    {kText, 1, {"decode", "chat"}}};
  return scales;
}

TextComparison::TextComparison(reference::TextEngine& subject, reference::TextEngine& reference)
    : subject_(subject), reference_(reference) {
  const TokenIds control = reference.control_ids();
  control_ids_.insert(control.begin(), control.end());
}

void TextComparison::encode(std::span<const std::string> texts, reference::TextMode mode,
                            const TokenIds& stated) {
  noun_ = "texts";
  const auto subject = timed(subject_seconds_, [&] { return subject_.encode(texts, mode); });
  const auto reference = timed(reference_seconds_, [&] { return reference_.encode(texts, mode); });
  const bool literal = mode == reference::TextMode::kLiteral;
  std::vector<TokenIds> encoded;
  std::vector<Seen> encoded_from;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const Seen seen{given_++, &texts[i]};
    items_.update(texts[i].data(), texts[i].size() + 1);
    if (!both_answered(seen, subject[i].refusal, reference[i].refusal)) continue;
    compare_ids(seen, subject[i].ids, reference[i].ids, "reference");
    if (!stated.empty()) compare_ids(seen, subject[i].ids, stated, "spec");
    if (literal) compare_spans(seen, subject[i], reference[i]);
    if (literal) count_control(seen, subject[i].ids, 0);
    encoded.push_back(subject[i].ids);
    encoded_from.push_back(seen);
  }
  const auto back = compare_decoded(encoded, encoded_from);
  if (!literal) return;
  for (std::size_t i = 0; i < back.size(); ++i) {
    compare_text(kRoundtrip, encoded_from[i], back[i], *encoded_from[i].content, "the text itself");
  }
}

void TextComparison::decode(std::span<const TokenIds> ids) {
  noun_ = "lists of ids";
  std::vector<Seen> seen;
  for (const TokenIds& list : ids) {
    seen.push_back({given_++, nullptr, &list});
    items_.update(list.data(), list.size() * sizeof list[0]);
  }
  compare_decoded(ids, seen);
}

std::vector<std::string> TextComparison::compare_decoded(std::span<const TokenIds> ids,
                                                         std::span<const Seen> seen) {
  using reference::Decoding;
  for (const TokenIds& list : ids) add_ids(list);
  const auto compare = [&](Decoding decoding, const std::vector<std::string>& expected,
                           const char* how) {
    auto texts = timed(subject_seconds_, [&] { return subject_.decode(ids, decoding); });
    for (std::size_t i = 0; i < ids.size(); ++i)
      compare_text(kText, seen[i], texts[i], expected[i], how);
    return texts;
  };
  const auto expect = [&](Decoding decoding) {
    return timed(reference_seconds_, [&] { return reference_.decode(ids, decoding); });
  };
  const auto whole = expect(Decoding::kWhole);
  compare(Decoding::kOneByOne, whole, "decoded one by one");
  compare(Decoding::kSkippingSpecial, expect(Decoding::kSkippingSpecial),
          "decoded without special tokens");
  return compare(Decoding::kWhole, whole, "decoded");
}

void TextComparison::render(std::span<const std::string> chats, const std::string& stated_text,
                            const TokenIds& stated_ids) {
  noun_ = "chats";
  const auto subject = timed(subject_seconds_, [&] { return subject_.render(chats); });
  const auto reference = timed(reference_seconds_, [&] { return reference_.render(chats); });
  for (std::size_t i = 0; i < chats.size(); ++i) {
    const Seen seen{given_++, &chats[i]};
    items_.update(chats[i].data(), chats[i].size() + 1);
    const auto &ours = subject[i], &theirs = reference[i];
    if (!both_answered(seen, ours.refusal, theirs.refusal)) continue;
    compare_text(kText, seen, ours.text, theirs.text, "rendered");
    if (!stated_text.empty())
      compare_text(kText, seen, ours.text, stated_text, "stated by the spec");
    compare_ids(seen, ours.compatible_ids, theirs.compatible_ids,
                "reference, as Transformers does");
    if (!stated_ids.empty()) compare_ids(seen, ours.ids, stated_ids, "spec");
    add_ids(ours.ids);
    if (!theirs.origin_known) {
      ++origin_unknown_;
      continue;
    }
    compare_ids(seen, ours.ids, theirs.ids, "reference");
    count_control(seen, ours.ids, control_in(theirs.ids));
  }
}

verify::Measurement TextComparison::finish() {
  if (metrics_.empty()) {
    throw std::runtime_error("nothing was compared: both sides refuse each of the " +
                             std::to_string(given_) + " given");
  }
  verify::Measurement measurement;
  measurement.metrics = std::move(metrics_);
  measurement.record = {
      {"subject", side_json(subject_.description())},
      {"reference", side_json(reference_.description())},
      {"given", given_},
      {"items", {{noun_, given_ - refused_by_both_}}},
      {"refused_by_both", refused_by_both_},
      {"origin_unknown", origin_unknown_},
      {"given_sha256", items_.hex()},
      {"token_ids_sha256", ids_.hex()},
      {"seconds", {{"subject", subject_seconds_}, {"reference", reference_seconds_}}}};
  if (!differences_.empty()) measurement.record["differences"] = std::move(differences_);
  return measurement;
}

bool TextComparison::both_answered(const Seen& seen, const std::string& subject,
                                   const std::string& reference) {
  if (subject.empty() && reference.empty()) return true;
  if (!subject.empty() && !reference.empty()) {
    ++refused_by_both_;
    return false;
  }
  count(metrics_, kIds, false);
  keep(kIds, seen, {{"subject_refuses", subject}, {"reference_refuses", reference}});
  return false;
}

void TextComparison::compare_ids(const Seen& seen, const TokenIds& subject,
                                 const TokenIds& reference, const char* against) {
  count(metrics_, kIds, subject == reference);
  if (subject == reference) return;
  const std::size_t at = first_difference(subject, reference);
  keep(kIds, seen,
       {{"against", against},
        {"position", at},
        {"subject", tokens_around(subject_, subject, at)},
        {"reference", tokens_around(reference_, reference, at)}});
}

void TextComparison::compare_text(const char* metric, const Seen& seen, const std::string& subject,
                                  const std::string& reference, const char* against) {
  count(metrics_, metric, subject == reference);
  if (subject == reference) return;
  const std::size_t at = first_difference(subject, reference);
  keep(metric, seen,
       {{"against", against},
        {"byte", at},
        {"subject", text_around(subject, at)},
        {"reference", text_around(reference, at)}});
}

void TextComparison::compare_spans(const Seen& seen, const reference::Encoding& subject,
                                   const reference::Encoding& reference) {
  const bool whole = reference.spans.size() == 2 * reference.ids.size();
  const bool equal = whole && subject.spans == reference.spans;
  count(metrics_, kOffsets, equal);
  if (equal) return;
  const std::size_t at = first_difference(subject.spans, reference.spans);
  const auto span = [&](const TokenIds& spans) {
    const std::size_t first = at / 2 * 2;
    return first + 1 < spans.size() ? nlohmann::json({spans[first], spans[first + 1]})
                                    : nlohmann::json();
  };
  keep(kOffsets, seen,
       {{"position", at / 2},
        {"subject", span(subject.spans)},
        {"reference", span(reference.spans)}});
}

void TextComparison::count_control(const Seen& seen, const TokenIds& subject,
                                   std::int64_t written) {
  const std::int64_t more = std::max<std::int64_t>(0, control_in(subject) - written);
  auto& value = metrics_.try_emplace(kControl, std::int64_t{0}).first->second;
  std::get<std::int64_t>(value) += more;
  if (more == 0) return;
  const auto at =
      std::ranges::find_if(subject, [&](std::int32_t id) { return control_ids_.contains(id); });
  const auto position = static_cast<std::size_t>(at - subject.begin());
  keep(kControl, seen,
       {{"written", written},
        {"position", position},
        {"subject", tokens_around(subject_, subject, position)}});
}

// The lists' lengths are in the digest too: [1, 2] is not [1], [2].
void TextComparison::add_ids(const TokenIds& ids) {
  const std::string digest = reference::sha256_of_ids(ids);
  ids_.update(digest.data(), digest.size());
}

std::int64_t TextComparison::control_in(const TokenIds& ids) const {
  return std::ranges::count_if(ids, [&](std::int32_t id) { return control_ids_.contains(id); });
}

void TextComparison::keep(const char* metric, const Seen& seen, nlohmann::json difference) {
  if (differences_.contains(metric)) return;
  difference["index"] = seen.index;
  if (seen.content != nullptr) difference["given"] = text_around(*seen.content, 0);
  if (seen.ids != nullptr) difference["given"] = tokens_around(reference_, *seen.ids, 0);
  differences_[metric] = std::move(difference);
}

nlohmann::json TextComparison::tokens_around(reference::TextEngine& side, const TokenIds& ids,
                                             std::size_t at) {
  auto tokens = nlohmann::json::array();
  const std::size_t end = std::min(ids.size(), at + kTokensAround + 1);
  for (std::size_t i = at - std::min(at, kTokensAround); i < end; ++i) {
    tokens.push_back({{"position", i}, {"token_id", ids[i]}, {"token", side.token(ids[i])}});
  }
  return tokens;
}

}  // namespace octlm::experiments
