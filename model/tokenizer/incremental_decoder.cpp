#include "model/tokenizer/incremental_decoder.h"

#include <utility>

#include "formats/utf8.h"

namespace octlm::model {

std::string IncrementalDecoder::push(std::int32_t id) {
  if (options_.skip_special && tokenizer_.is_special(id)) return {};
  held_ += tokenizer_.bytes_of(id);
  std::size_t certain = 0;
  while (certain < held_.size()) {
    const formats::Utf8Step step = formats::utf8_step(held_, certain);
    if (step.kind == formats::Utf8Step::Kind::kIncomplete) break;
    certain += step.bytes;
  }
  std::string out;
  formats::append_lossy(out, std::string_view(held_).substr(0, certain));
  held_.erase(0, certain);
  return out;
}

std::string IncrementalDecoder::finish() {
  std::string out;
  formats::append_lossy(out, std::exchange(held_, {}));
  return out;
}

}  // namespace octlm::model
