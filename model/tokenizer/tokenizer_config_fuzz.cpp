// tokenizer_config.json, with a special_tokens_map.json behind the first NUL.
#include "model/tokenizer/tokenizer_config.h"

#include <stdexcept>

#include "formats/testing/fuzzing.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace octlm;
  static const formats::testing::InputFolder folder;
  const std::string_view text = formats::testing::text_of(data, size);
  const std::size_t end = std::min(text.find('\0'), text.size());
  folder.put("tokenizer_config.json", text.substr(0, end));
  folder.put("special_tokens_map.json", end < text.size() ? text.substr(end + 1) : "{}");
  formats::testing::accepted<std::runtime_error>([&] {
    const auto config = model::read_tokenizer_config(folder.path());
    model::TokenizerFile file;
    file.vocabulary.add("a", 0);
    if (config) model::apply(*config, file);
  });
  return 0;
}
