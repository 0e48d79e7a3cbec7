#include "experiments/kinds/token_text.h"

#include <algorithm>

namespace octlm::experiments {
namespace {

constexpr std::size_t kContextTokens = 12;

void add_text(nlohmann::json& entry, const model::Tokenizer& tokenizer) {
  const std::int32_t id = entry.at("token_id");
  entry["text"] = tokenizer.decode(std::span(&id, 1));
}

}  // namespace

void add_token_text(nlohmann::json& worst, std::span<const std::int32_t> ids,
                    const model::Tokenizer& tokenizer) {
  if (!worst.is_object()) return;
  add_text(worst, tokenizer);
  for (const char* side : {"subject_top5", "reference_top5"}) {
    for (auto& entry : worst.at(side)) add_text(entry, tokenizer);
  }
  const auto end = worst.at("position").get<std::size_t>() + 1;
  const std::size_t count = std::min(end, kContextTokens);
  worst["context"] = tokenizer.decode(ids.subspan(end - count, count));
}

}  // namespace octlm::experiments
