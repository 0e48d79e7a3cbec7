#include "reference/recorded/logits_file.h"

#include <stdexcept>
#include <vector>

#include "formats/testing/fuzzing.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace octlm;
  static const formats::testing::InputFolder folder;
  const auto file = folder.put("logits.safetensors", formats::testing::text_of(data, size));
  formats::testing::accepted<std::runtime_error>([&] {
    const reference::LogitsReader reader(file);
    const auto& tensor = reader.tensor("logits");
    std::vector<float> row(static_cast<std::size_t>(tensor.vocab));
    for (std::int64_t i = 0; i < std::min<std::int64_t>(tensor.positions, 4); ++i) {
      reader.read(tensor, i, 1, row.data());
    }
  });
  return 0;
}
