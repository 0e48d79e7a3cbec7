#include "formats/canonical_json.h"

#include <stdexcept>

#include "formats/error.h"
#include "formats/strict_json.h"
#include "formats/testing/fuzzing.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace octlm::formats;
  nlohmann::json value;
  if (!testing::accepted<FormatError>(
          [&] { value = parse_strict(testing::text_of(data, size), "f", kIntegersOf64Bits); })) {
    return 0;
  }
  std::string once;
  if (!testing::accepted<std::invalid_argument>([&] { once = canonical_json(value); })) return 0;
  const auto again = parse_strict(once, "canonical", kIntegersOf64Bits);
  testing::require(canonical_json(again) == once, "the canonical text is its own: " + once);
  return 0;
}
