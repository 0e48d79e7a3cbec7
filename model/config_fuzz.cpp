#include "model/config.h"

#include <stdexcept>

#include "formats/testing/fuzzing.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace octlm;
  formats::testing::accepted<std::runtime_error>([&] {
    const auto config =
        model::parse_config(std::string(formats::testing::text_of(data, size)), "config.json");
    // Whatever is accepted has sizes that can be multiplied.
    (void)config.cache_bytes_per_token(model::DType::kFloat32);
    formats::testing::require(config.attention_width() > 0 && config.key_value_width() > 0,
                              "widths are positive");
  });
  return 0;
}
