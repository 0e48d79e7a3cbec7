#include <gmock/gmock.h>
#include <sys/stat.h>

#include <fstream>

#include "formats/error.h"
#include "formats/input_file.h"
#include "formats/output_file.h"
#include "formats/sha256.h"
#include "formats/testing/message_of.h"
#include "formats/testing/temporary_folder.h"

namespace octlm::formats {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using testing::message_of;

class FilesTest : public ::testing::Test {
 protected:
  fs::path at(const char* name) const { return folder_.path() / name; }
  std::string refusal(const fs::path& file, std::size_t limit = kMaxFileBytes) const {
    return message_of<FormatError>([&] { read_file(file, limit); });
  }
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_.path()), {}));
  }
  testing::TemporaryFolder folder_;
};

TEST_F(FilesTest, AFileIsReadWhole) {
  const std::string bytes("a\0b\n", 4);
  std::ofstream(at("f")) << bytes;
  EXPECT_EQ(read_file(at("f")), bytes);
  EXPECT_EQ(read_file(at("f"), 4), bytes);
  EXPECT_EQ(refusal(at("f"), 3), at("f").string() + ": 4 bytes, expected at most 3");
}

TEST_F(FilesTest, WhatIsNoFileIsRefusedWithoutWaiting) {
  EXPECT_THAT(refusal(at("none")), HasSubstr("none: cannot be opened: No such file"));
  EXPECT_THAT(refusal(folder_.path()), HasSubstr("not a regular file"));
  ASSERT_EQ(mkfifo(at("fifo").c_str(), 0600), 0);
  EXPECT_THAT(refusal(at("fifo")), HasSubstr("not a regular file"));
  EXPECT_THAT(refusal("/dev/zero"), HasSubstr("not a regular file"));
}

TEST_F(FilesTest, AWholeFileAppearsAtTheEnd) {
  replace_file(at("f"), "before");
  {
    WholeFile file(at("f"));
    file.write("after");
    EXPECT_EQ(read_file(at("f")), "before");
    file.finish();
    EXPECT_EQ(read_file(at("f")), "after");
  }
  { WholeFile(at("f")).write("half"); }
  EXPECT_EQ(read_file(at("f")), "after");
  EXPECT_EQ(files(), 1u);
}

TEST_F(FilesTest, AWholeFileReplacesNothingButAFile) {
  ASSERT_EQ(mkfifo(at("fifo").c_str(), 0600), 0);
  const auto refusal_to = [](const fs::path& file) {
    return message_of<std::runtime_error>([&] { replace_file(file, "x"); });
  };
  EXPECT_EQ(refusal_to(at("fifo")),
            at("fifo").string() + ": cannot be written: not a regular file");
  EXPECT_THAT(refusal_to(folder_.path()), HasSubstr("not a regular file"));
  EXPECT_THAT(refusal_to(at("none") / "f"), HasSubstr("cannot be written: No such file"));
  EXPECT_TRUE(fs::is_fifo(at("fifo")));
  EXPECT_EQ(files(), 1u);
}

TEST_F(FilesTest, Sha256InPiecesIsThatOfTheWhole) {
  Sha256 pieces;
  pieces.update("a", 1);
  pieces.update("bc", 2);
  EXPECT_EQ(pieces.hex(), sha256("abc"));
}

}  // namespace
}  // namespace octlm::formats
