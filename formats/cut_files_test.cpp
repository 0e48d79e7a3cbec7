#include "formats/cut_files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <thread>

#include "formats/file_stamp.h"
#include "formats/testing/temporary_folder.h"

namespace octlm::formats {
namespace {

constexpr std::size_t kBytes = 1 << 20;

// A file of ones, mapped, and cut to one byte.
const char* cut_mapping(const std::filesystem::path& file) {
  std::ofstream(file) << std::string(kBytes, '1');
  const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  void* mapped = ::mmap(nullptr, kBytes, PROT_READ, MAP_PRIVATE, descriptor, 0);
  ::close(descriptor);
  EXPECT_NE(mapped, MAP_FAILED);
  std::filesystem::resize_file(file, 1);
  return static_cast<const char*>(mapped);
}

// The bytes of it that are not zero, counted by two threads at once.
std::size_t ones(const char* bytes) {
  std::size_t found[2] = {0, 0};
  const auto count = [&](std::size_t part) {
    for (std::size_t i = part; i < kBytes; i += 2) found[part] += bytes[i] != 0;
  };
  std::thread other(count, 1);
  count(0);
  other.join();
  return found[0] + found[1];
}

TEST(CutFiles, LostBytesReadAsZerosInEveryThreadAndAreNoticed) {
  const testing::TemporaryFolder folder;
  const char* bytes = cut_mapping(folder.path() / "f");
  outlive_cut_files();
  EXPECT_FALSE(cut_files());
  EXPECT_EQ(ones(bytes), 1U);
  EXPECT_TRUE(cut_files());
}

// Not a mapping that lost its file: what was in force before.
TEST(CutFilesDeath, AnotherBusErrorEndsTheProgram) {
  EXPECT_EXIT(
      {
        outlive_cut_files();
        ::raise(SIGBUS);
        std::exit(0);
      },
      ::testing::KilledBySignal(SIGBUS), "");
}

}  // namespace
}  // namespace octlm::formats
