#include "reference/transformers/mapped_libraries.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

namespace octlm::reference {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kMaps =
    "00400000-00452000 r-xp 00000000 08:02 173521      /usr/bin/octlm\n"
    "7f01-7f02 r-xp 00000000 08:02 1   /v/site-packages/torch/lib/libgomp-24e2ab19.so.1.0.0\n"
    "7f02-7f03 rw-p 00001000 08:02 1   /v/site-packages/torch/lib/libgomp-24e2ab19.so.1.0.0\n"
    "7f03-7f04 r-xp 00000000 08:02 2   /v/with space/libscipy_openblas64_-6bb31eeb.so\n"
    "7f04-7f05 r-xp 00000000 08:02 3   /v/lib/libcudart.so.13 (deleted)\n"
    "7f05-7f06 r-xp 00000000 08:02 4   /usr/lib/libc.so.6\n"
    "7f06-7f07 rw-p 00000000 00:00 0\n"
    "7fff-8000 rw-p 00000000 00:00 0   [stack]\n";

std::vector<MappedLibrary> read(const std::string& text) {
  std::istringstream maps(text);
  return mapped_libraries(maps);
}

TEST(MappedLibraries, EachFileOnceByFamily) {
  EXPECT_THAT(read(kMaps),
              ElementsAre(MappedLibrary{"BLAS", "libscipy_openblas64_",
                                        "/v/with space/libscipy_openblas64_-6bb31eeb.so"},
                          MappedLibrary{"CUDA", "libcudart", "/v/lib/libcudart.so.13"},
                          MappedLibrary{"OpenMP", "libgomp",
                                        "/v/site-packages/torch/lib/libgomp-24e2ab19.so.1.0.0"}));
  EXPECT_THAT(duplicate_warnings(read(kMaps)), IsEmpty());
}

TEST(MappedLibraries, ASecondCopyIsWarnedOf) {
  const std::string two = std::string(kMaps) + "7f0-7f1 r-xp 0 08:02 9 /usr/lib/libgomp.so.1.0.0\n";
  EXPECT_THAT(duplicate_warnings(read(two)),
              ElementsAre(HasSubstr(
                  "libgomp is mapped from several files: /usr/lib/libgomp.so.1.0.0, /v/")));
}

TEST(MappedLibraries, ASecondOpenMpRuntimeIsWarnedOf) {
  const std::string two = std::string(kMaps) + "7f0-7f1 r-xp 0 08:02 9 /usr/lib/libiomp5.so\n";
  EXPECT_THAT(duplicate_warnings(read(two)),
              ElementsAre("several OpenMP runtimes are mapped: libgomp, libiomp5"));
}

// The program itself brings no numeric library (docs/numerics.md). That a mapped one is found is
// tested where torch is there, in transformers_test.cpp.
TEST(MappedLibraries, ThisProgramBringsNone) {
  for (const auto& library : mapped_libraries())
    EXPECT_EQ(library.family, "Python") << library.path;
}

}  // namespace
}  // namespace octlm::reference
