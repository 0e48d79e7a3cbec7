// Two tokenizers, or two chat templates, on the same texts, ids and chats. Every block given is put
// to both sides; what differs is counted, and the first difference of each metric kept, with the
// tokens around it.
//
//   ids_equal@1               lists of ids that equal the reference's, and what the spec states; a
//                             chat's by origin, and again as Transformers makes them
//   text_equal@1              texts that equal the reference's: of ids, decoded whole, without
//                             special tokens and one by one; of a chat, its rendering, and what
//                             the spec states
//   offsets_equal@1           literal texts whose ids stand for the same characters
//   roundtrip_equal@1         texts that their literal ids give back byte for byte
//   control_ids_from_text@1   ids of control tokens that nobody's template wrote
//
// A text that one side refuses and the other does not differs. What both refuse is counted, not
// compared.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "experiments/kinds/text_sets.h"
#include "formats/sha256.h"
#include "reference/request.h"
#include "reference/text_engine.h"
#include "verify/kind.h"

namespace octlm::experiments {

const std::vector<verify::MetricDefinition>& text_metrics();
// Nothing about text is near: one of these bounds each comparison, at all of what was counted.
const std::vector<verify::Scale>& text_scales();

class TextComparison {
 public:
  // REQUIRES: both outlive this.
  TextComparison(reference::TextEngine& subject, reference::TextEngine& reference);

  // `stated`: the ids that the spec says the only text becomes; empty when it says nothing.
  void encode(std::span<const std::string> texts, reference::TextMode mode, const TokenIds& stated);
  void decode(std::span<const TokenIds> ids);
  // `stated_text`, `stated_ids`: of the only chat; empty when the spec says nothing.
  void render(std::span<const std::string> chats, const std::string& stated_text,
              const TokenIds& stated_ids);

  // The metrics that something was counted for, and the record. Throws std::runtime_error when
  // nothing was compared.
  verify::Measurement finish();

 private:
  struct Seen;

  bool both_answered(const Seen& seen, const std::string& subject, const std::string& reference);
  void compare_ids(const Seen& seen, const TokenIds& subject, const TokenIds& reference,
                   const char* against);
  void compare_text(const char* metric, const Seen& seen, const std::string& subject,
                    const std::string& reference, const char* against);
  void compare_spans(const Seen& seen, const reference::Encoding& subject,
                     const reference::Encoding& reference);
  void count_control(const Seen& seen, const TokenIds& subject, std::int64_t written);
  // Decodes in every way, and returns the subject's texts, decoded whole.
  std::vector<std::string> compare_decoded(std::span<const TokenIds> ids,
                                           std::span<const Seen> seen);
  void add_ids(const TokenIds& ids);
  std::int64_t control_in(const TokenIds& ids) const;
  void keep(const char* metric, const Seen& seen, nlohmann::json difference);
  nlohmann::json tokens_around(reference::TextEngine& side, const TokenIds& ids, std::size_t at);

  reference::TextEngine& subject_;
  reference::TextEngine& reference_;
  std::set<std::int32_t> control_ids_;  // the reference's
  verify::MetricValues metrics_;
  nlohmann::json differences_ = nlohmann::json::object();  // metric -> the first one
  formats::Sha256 items_, ids_;  // of what was given; of the subject's ids
  const char* noun_ = "texts";   // what was given
  std::int64_t given_ = 0, refused_by_both_ = 0, origin_unknown_ = 0;
  double subject_seconds_ = 0, reference_seconds_ = 0;
};

}  // namespace octlm::experiments
