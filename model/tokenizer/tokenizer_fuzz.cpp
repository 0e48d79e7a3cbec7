#include "model/tokenizer/tokenizer.h"

#include <stdexcept>

#include "formats/testing/fuzzing.h"

namespace octlm::model {
namespace {

using formats::testing::accepted;
using formats::testing::require;

constexpr std::string_view kText = "The cat's 12 hats,\r\n  e\u0301 \u00e9\t<s>\U0001f642 aab abab";

void encode(const Tokenizer& tokenizer) {
  accepted<std::runtime_error>([&] {  // beyond PCRE2's limits
    accepted<std::invalid_argument>([&] {
      const auto ids = tokenizer.encode_literal(kText);
      (void)tokenizer.decode(ids);
    });
    (void)tokenizer.encode_hf_compatible(kText);
    const auto ids = tokenizer.encode_rendered(RenderedText::of_template(kText));
    for (const std::int32_t id : ids) {
      require(id >= 0 && id < tokenizer.id_end(), "every id is of the vocabulary");
    }
    (void)tokenizer.decode_bytes(ids, {.skip_special = true});
  });
}

}  // namespace
}  // namespace octlm::model

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace octlm;
  static const formats::testing::InputFolder folder;
  folder.put("tokenizer.json", formats::testing::text_of(data, size));
  formats::testing::accepted<std::runtime_error>(
      [&] { model::encode(model::Tokenizer::load(folder.path())); });
  return 0;
}
