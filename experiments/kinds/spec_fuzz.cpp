// A spec file, its envelope and what each kind reads of it, as `octlm check` does.
#include "experiments/kinds/kinds.h"
#include "formats/error.h"
#include "formats/testing/fuzzing.h"
#include "verify/runner.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace octlm;
  static const formats::testing::InputFolder folder;
  static const auto kinds = experiments::all_kinds();
  // Beside the spec, for cases that name a file.
  static const auto chat =
      folder.put("chat.json", R"({"messages": [{"role": "user", "content": "x"}], "tools": null})");
  static const auto texts = folder.put("texts.jsonl", "\"one\"\n\"two\"\n");
  formats::testing::accepted<formats::FormatError>([&] {
    const auto item = verify::read_item(formats::testing::text_of(data, size),
                                        folder.path() / "EXP-950.json", kinds);
    formats::testing::require(!item.experiment->comparisons().empty(), "a plan has comparisons");
    formats::testing::require(item.spec.sha256.size() == 64, "a spec has a digest");
  });
  return 0;
}
