// A fuzzing target without a fuzzer: reads each file of the given folders once, so that what was
// found stays found with any compiler. The name stands before the reading: the last one named is
// the one that broke.
#include <algorithm>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

std::vector<std::filesystem::path> files_of(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}

void replay(const std::filesystem::path& file) {
  std::cout << file.string() << std::endl;
  std::ifstream stream(file, std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(stream), {});
  // Of its own size, so that AddressSanitizer sees a byte read past the end.
  const std::vector<std::uint8_t> data(bytes.begin(), bytes.end());
  LLVMFuzzerTestOneInput(data.data(), data.size());
}

}  // namespace

int main(int count, char** arguments) {
  std::size_t read = 0;
  try {
    for (int i = 1; i < count; ++i) {
      for (const auto& file : files_of(arguments[i])) {
        replay(file);
        ++read;
      }
    }
  } catch (const std::exception& error) {
    std::cout << "let through: " << error.what() << '\n';
    return 1;
  }
  std::cout << read << " read\n";
  return read == 0 ? 1 : 0;
}
