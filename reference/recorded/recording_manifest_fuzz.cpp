#include "reference/recorded/recording_manifest.h"

#include <stdexcept>

#include "formats/testing/fuzzing.h"
#include "reference/recorded/recorded_settings.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace octlm;
  static const formats::testing::InputFolder folder;
  folder.put("manifest.json", formats::testing::text_of(data, size));
  formats::testing::accepted<std::runtime_error>([&] {
    const auto manifest = reference::read_manifest(folder.path());
    (void)reference::settings_contradiction(manifest.producer, manifest.key);
    for (const auto& one : manifest.cases) {
      formats::testing::require(
          std::filesystem::path(one.file).filename() == one.file && one.file != "..",
          "a file of the recording's own folder");
    }
  });
  return 0;
}
