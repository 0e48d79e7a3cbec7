#include "formats/safetensors.h"

#include <array>

#include "formats/error.h"
#include "formats/testing/fuzzing.h"

namespace octlm::formats {
namespace {

using testing::accepted;
using testing::require;

constexpr std::array<std::string_view, 4> kDtypes{"F64", "F32", "F16", "BF16"};

void require_covered(std::span<const StoredTensor> tensors, std::uint64_t bytes) {
  std::uint64_t next = 0;
  for (const StoredTensor& tensor : tensors) {
    require(tensor.begin == next && tensor.end >= tensor.begin, "no hole and no overlap");
    next = tensor.end;
  }
  require(next == bytes, "the tensors are all of the data");
}

// The header of a file whose data is as long as the file says, and as long as the header wants.
void read_header(std::string_view header, std::uint64_t file_bytes) {
  std::vector<StoredTensor> tensors;
  if (!accepted<FormatError>(
          [&] { tensors = parse_safetensors_header(header, file_bytes, kDtypes, "f"); })) {
    return;
  }
  const std::uint64_t data = file_bytes - kSafetensorsLengthBytes - header.size();
  require_covered(tensors, data);
  const std::string start = safetensors_start(tensors);
  const auto length = safetensors_header_bytes(start, start.size() + data, "f");
  const auto again =
      parse_safetensors_header(std::string_view(start).substr(kSafetensorsLengthBytes, length),
                               start.size() + data, kDtypes, "written");
  require(again.size() == tensors.size(), "what is written is what was read");
}

}  // namespace
}  // namespace octlm::formats

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace octlm::formats;
  const std::string_view file = testing::text_of(data, size);
  std::uint64_t length = 0;
  const std::string_view start = file.substr(0, kSafetensorsLengthBytes);
  if (testing::accepted<FormatError>(
          [&] { length = safetensors_header_bytes(start, size, "f"); })) {
    read_header(file.substr(kSafetensorsLengthBytes, length), size);
  }
  // All of it as a header, whose data has the length that its first bytes say.
  if (size < 2) return 0;
  const std::string_view header = file.substr(2);
  read_header(header, kSafetensorsLengthBytes + header.size() + data[0] + 256u * data[1]);
  return 0;
}
