#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "formats/error.h"
#include "formats/file_stamp.h"
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
  for (const fs::path& file : {at("fifo"), fs::path("/dev/zero")}) {
    EXPECT_THAT(message_of<FormatError>([&] { (void)sha256_file(file); }),
                HasSubstr("not a regular file"));
    EXPECT_THAT(message_of<FormatError>([&] { (void)stamp_of(file); }),
                HasSubstr("not a regular file"));
  }
  EXPECT_FALSE(stamp_of(at("none")));
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

// bazelbuild/bazel#31038: a link replaced by a file, while what it named keeps what it held.
TEST_F(FilesTest, ASymbolicLinkStaysAndItsFileIsReplaced) {
  fs::create_directory(at("there"));
  replace_file(at("there") / "f", "before");
  fs::create_symlink("there/f", at("link"));
  fs::create_symlink(at("link"), at("second"));
  replace_file(at("second"), "after");
  EXPECT_TRUE(fs::is_symlink(at("second")) && fs::is_symlink(at("link")));
  EXPECT_EQ(read_file(at("there") / "f"), "after");
  fs::create_symlink("there/new", at("dangling"));
  replace_file(at("dangling"), "new");
  EXPECT_EQ(read_file(at("there") / "new"), "new");
  fs::create_symlink("round", at("round"));
  EXPECT_THAT(message_of<std::runtime_error>([&] { replace_file(at("round"), "x"); }),
              HasSubstr("round: cannot be written: Too many levels of symbolic links"));
}

TEST_F(FilesTest, TheModeAndTheOwnerOfAFileAreKept) {
  const auto status = [&] {
    struct stat found = {};
    EXPECT_EQ(::stat(at("f").c_str(), &found), 0);
    return found;
  };
  replace_file(at("f"), "before");
  const mode_t mask = ::umask(0);
  ::umask(mask);
  EXPECT_EQ(status().st_mode & 07777, 0666 & ~mask);
  for (const mode_t mode : {0600, 0640, 0777}) {
    ASSERT_EQ(::chmod(at("f").c_str(), mode), 0);
    replace_file(at("f"), "after");
    EXPECT_EQ(status().st_mode & 07777, mode);
  }
  if (::geteuid() != 0) GTEST_SKIP() << "not run: only root may give a file away";
  ASSERT_EQ(::chown(at("f").c_str(), 1234, 2345), 0);
  replace_file(at("f"), "theirs");
  EXPECT_EQ(status().st_uid, 1234u);
  EXPECT_EQ(status().st_gid, 2345u);
}

TEST_F(FilesTest, AFileThatMayNotBeWrittenIsNotReplacedEither) {
  replace_file(at("f"), "before");
  ASSERT_EQ(::chmod(at("f").c_str(), 0444), 0);
  ASSERT_EQ(::chmod(folder_.path().c_str(), 0777), 0);
  const uid_t me = ::geteuid();
  ASSERT_TRUE(me != 0 || ::seteuid(65534) == 0);
  const auto refusal = message_of<std::runtime_error>([&] { replace_file(at("f"), "x"); });
  ASSERT_TRUE(me != 0 || ::seteuid(me) == 0);
  EXPECT_THAT(refusal, HasSubstr("f: cannot be written: Permission denied"));
  EXPECT_EQ(read_file(at("f")), "before");
}

// sahib/rmlint#763: a file that is read is written over, under another of its names.
TEST_F(FilesTest, AnInputIsKnownByEveryName) {
  fs::create_directories(at("model") / "deep");
  replace_file(at("model") / "weights", "w");
  replace_file(at("model") / "deep" / "more", "m");
  replace_file(at("other"), "o");
  fs::create_symlink("model/weights", at("link"));
  fs::create_hard_link(at("model") / "weights", at("hard"));
  fs::create_symlink(at("other"), at("model") / "blob");  // as in a hub's cache
  const std::vector<fs::path> inputs = {at("model")};
  const auto refusal = [&](const fs::path& output) {
    return message_of<std::invalid_argument>([&] { require_no_input(output, inputs); });
  };
  for (const fs::path& name : {at("model") / "weights", at("model") / "deep" / ".." / "weights",
                               at("link"), at("hard"), at("model") / "deep" / "more", at("other")})
    EXPECT_THAT(refusal(name), HasSubstr(", which this command uses, and is not overwritten"));
  replace_file(at("free"), "f");
  for (const fs::path& name : {at("free"), at("model") / "new", at("none") / "x"})
    EXPECT_EQ(refusal(name), "");
  const std::vector<fs::path> file = {at("hard"), at("absent")};
  EXPECT_THAT(message_of<std::invalid_argument>([&] { require_no_input(at("link"), file); }),
              HasSubstr("link: is " + at("hard").string()));
}

TEST_F(FilesTest, WhatAKilledProcessLeftMakesWayAndWhatIsAtWorkDoesNot) {
  replace_file(at(".f.partial"), "left behind");
  replace_file(at("f"), "one");
  EXPECT_EQ(read_file(at("f")), "one");
  fs::create_symlink(at("f"), at(".f.partial"));  // never followed
  replace_file(at("f"), "two");
  EXPECT_EQ(read_file(at("f")), "two");
  WholeFile first(at("f"));
  first.write("three");
  EXPECT_EQ(message_of<std::runtime_error>([&] { WholeFile second(at("f")); }),
            at("f").string() + ": cannot be written: another process is writing it");
  first.finish();
  EXPECT_EQ(read_file(at("f")), "three");
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
