// The kinds read their parts as docs/spec.schema.json says: the part of verify/spec_variants.json
// that is theirs. (verify/spec_test.cpp holds the envelope to it, verify/spec_schema_test.py the
// schema.)
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "experiments/kinds/kinds.h"
#include "formats/error.h"
#include "formats/json_reader.h"
#include "verify/runner.h"

namespace octlm::experiments {
namespace {

TEST(SpecVariants, TheKindsReadThemAsTheTableSays) {
  const auto table = formats::read_strict(std::filesystem::path(OCTLM_SOURCE_DIR) / "verify" /
                                          "spec_variants.json");
  const auto kinds = all_kinds();
  int read = 0;
  for (const auto& variant : table["variants"]) {
    if (variant["level"] != "kind") continue;
    const std::string name = variant["name"];
    const std::string text = table["base"].patch(variant["patch"]).dump();
    std::string refusal;
    try {
      (void)verify::read_item(text, "spec.json", kinds);
    } catch (const formats::FormatError& error) {
      refusal = error.what();
    }
    EXPECT_EQ(refusal.empty(), variant["valid"].get<bool>()) << name << ": " << refusal;
    if (!refusal.empty()) {
      EXPECT_THAT(refusal, ::testing::HasSubstr(variant.value("says", ""))) << name;
    }
    ++read;
  }
  EXPECT_GE(read, 30);
}

}  // namespace
}  // namespace octlm::experiments
