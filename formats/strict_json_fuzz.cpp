#include "formats/strict_json.h"

#include "formats/error.h"
#include "formats/testing/fuzzing.h"

namespace octlm::formats {
namespace {

using testing::accepted;
using testing::require;

void read_with(std::string_view text, const JsonLimits& limits) {
  nlohmann::json value;
  nlohmann::ordered_json ordered;
  const bool is_read = accepted<FormatError>([&] { value = parse_strict(text, "f.json", limits); });
  const bool in_order =
      accepted<FormatError>([&] { ordered = parse_strict_ordered(text, "f.json", limits); });
  require(is_read == in_order, "both readings accept the same texts");
  if (!is_read || limits.digits_beyond) return;  // digits kept are nothing that JSON can hold
  require(parse_strict(value.dump(), "dump", limits) == value, "one value for one text");
}

}  // namespace
}  // namespace octlm::formats

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace octlm::formats;
  const std::string_view text = testing::text_of(data, size);
  read_with(text, {});
  read_with(text, {.depth = 3, .values = 20});
  read_with(text, kIntegersOf64Bits);
  read_with(text, {.digits_beyond = true});
  const auto line = parse_or_discard(text);
  testing::require(
      line.is_discarded() || testing::accepted<FormatError>([&] {
        parse_strict(
            text, "f.json",
            {.least_integer = INT64_MIN, .greatest_integer = UINT64_MAX, .digits_beyond = true});
      }),
      "what a record may have is JSON");
  return 0;
}
