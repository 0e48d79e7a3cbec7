#include "formats/folder_lock.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <stdexcept>

#include "formats/testing/message_of.h"
#include "formats/testing/temporary_folder.h"

namespace octlm::formats {
namespace {

using ::testing::HasSubstr;
using testing::message_of;

class FolderLockTest : public ::testing::Test {
 protected:
  std::string refusal() const {
    return message_of<std::invalid_argument>([&] { FolderLock second(folder_.path()); });
  }
  bool empty() const { return std::filesystem::is_empty(folder_.path()); }
  testing::TemporaryFolder folder_;
};

// dimensionalOS/dimos#3630: two that write into one folder.
TEST_F(FolderLockTest, TheSecondIsRefusedAndHearsOfTheFirst) {
  {
    const FolderLock first(folder_.path());
    EXPECT_THAT(refusal(), HasSubstr("process " + std::to_string(getpid()) + " is at work in it"));
    EXPECT_THAT(refusal(), HasSubstr(folder_.path().string()));
    EXPECT_EQ(at_work_in(folder_.path()), refusal());
  }
  EXPECT_EQ(refusal(), "");
  EXPECT_EQ(at_work_in(folder_.path()), std::nullopt);
  EXPECT_TRUE(empty());
}

TEST_F(FolderLockTest, WhatAKilledProcessLeftDoesNotBlock) {
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    const FolderLock held(folder_.path());
    if (write(ready[1], "x", 1) != 1) _exit(1);
    pause();
  }
  char byte = 0;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  EXPECT_THAT(refusal(), HasSubstr("process " + std::to_string(child)));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_FALSE(empty());
  EXPECT_EQ(refusal(), "");
  EXPECT_TRUE(empty());
  close(ready[0]);
  close(ready[1]);
}

TEST_F(FolderLockTest, ALinkInItsPlaceIsNotFollowed) {
  std::ofstream(folder_.path() / "file") << "kept";
  std::filesystem::create_symlink("file", folder_.path() / ".lock");
  EXPECT_THAT(message_of<std::runtime_error>([&] { FolderLock lock(folder_.path()); }),
              HasSubstr(".lock: cannot be written"));
  std::string text;
  std::ifstream(folder_.path() / "file") >> text;
  EXPECT_EQ(text, "kept");
}

}  // namespace
}  // namespace octlm::formats
