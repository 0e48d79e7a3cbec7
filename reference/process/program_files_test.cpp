#include "reference/process/program_files.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <functional>

#include "formats/testing/temporary_folder.h"

namespace octlm::reference {
namespace {

namespace fs = std::filesystem;

class ProgramFilesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    write("engine.py", "import helper");
    write("helper.py", "x = 1");
  }
  fs::path at(const std::string& name) const { return folder_.path() / name; }
  void write(const std::string& name, const std::string& text) const {
    fs::create_directories(at(name).parent_path());
    std::ofstream(at(name)) << text;
  }
  std::string sha256(const std::vector<std::string>& words) const {
    return program_files(words).sha256;
  }
  std::string engine() const { return sha256({"python3", at("engine.py")}); }
  // Is another digest made when this was done?
  bool told(const std::function<void()>& change) const {
    const std::string before = engine();
    change();
    return engine() != before;
  }
  formats::testing::TemporaryFolder folder_;
};

TEST_F(ProgramFilesTest, WhatAScriptMayImportIsPartOfIt) {
  EXPECT_EQ(engine(), engine());
  EXPECT_EQ(program_files({"python3", at("engine.py")}).files, 3);  // the interpreter and both
  EXPECT_TRUE(told([&] { write("engine.py", "import helper, json"); }));
  EXPECT_TRUE(told([&] { write("helper.py", "x = 2"); }));
  EXPECT_TRUE(told([&] { write("package/__init__.py", ""); }));
  EXPECT_TRUE(told([&] { write("package/deep/rope.py", "half = 1"); }));
  EXPECT_TRUE(told([&] { fs::rename(at("package/deep/rope.py"), at("package/deep/rotary.py")); }));
  EXPECT_TRUE(told([&] { write("table.bin", "data"); }));
  EXPECT_TRUE(told([&] { fs::remove(at("table.bin")); }));
}

TEST_F(ProgramFilesTest, WhatARunLeavesBehindIsNot) {
  EXPECT_FALSE(told([&] { write("__pycache__/helper.cpython-312.pyc", "bytes"); }));
  EXPECT_FALSE(told([&] { write("helper.pyc", "bytes"); }));
  EXPECT_FALSE(told([&] { write(".git/HEAD", "x"); }));
  EXPECT_FALSE(told([&] { write("engine.log", "x"); }));
  EXPECT_FALSE(told([&] { write("out/results.jsonl", "x"), write("out/summary.md", "x"); }));
  EXPECT_FALSE(told([&] { write("reports/journal.jsonl", "x"), write("reports/1/x.md", "x"); }));
  EXPECT_FALSE(told([&] {
    write("recording/manifest.json", "x");
    write("recording/logits.0.safetensors", "x");
  }));
}

TEST_F(ProgramFilesTest, LinksAreFollowedOnce) {
  write("elsewhere/shared.py", "y = 1");
  fs::create_directories(at("linked"));
  write("linked/main.py", "import shared");
  fs::create_symlink(at("elsewhere"), at("linked/lib"));
  fs::create_symlink(at("linked"), at("linked/round"));
  fs::create_symlink("nowhere", at("linked/dangling"));
  const auto linked = [&] { return sha256({"python3", at("linked/main.py")}); };
  const std::string before = linked();
  write("elsewhere/shared.py", "y = 2");
  EXPECT_NE(linked(), before);
  // A link to a script: Python imports from beside the script that it names.
  fs::create_directories(at("bin"));
  fs::create_symlink(at("engine.py"), at("bin/start.py"));
  const std::string by_link = sha256({"python3", at("bin/start.py")});
  write("helper.py", "x = 3");
  EXPECT_NE(sha256({"python3", at("bin/start.py")}), by_link);
}

TEST_F(ProgramFilesTest, WordsAreFilesInSeveralWays) {
  write("data/weights.npz", "1");
  write("data/other.npz", "1");
  const auto by_option = [&] {
    return sha256({"python3", at("engine.py"), "--weights=" + at("data/weights.npz").string()});
  };
  const std::string before = by_option();
  EXPECT_NE(before, engine());  // other words
  write("data/weights.npz", "2");
  EXPECT_NE(by_option(), before);
  write("pack/__main__.py", "import part");
  write("pack/part.py", "1");
  const std::string pack = sha256({"python3", at("pack")});
  write("pack/part.py", "2");
  EXPECT_NE(sha256({"python3", at("pack")}), pack);
}

TEST_F(ProgramFilesTest, ModulesOfTheCurrentFolderAndOfPythonpathAreLookedAt) {
  const fs::path before = fs::current_path();
  fs::current_path(folder_.path());
  const std::string module = sha256({"python3", "-m", "engine"});
  write("helper.py", "x = 4");
  EXPECT_NE(sha256({"python3", "-m", "engine"}), module);
  fs::current_path(before);
  const formats::testing::TemporaryFolder path;
  std::ofstream(path.path() / "more.py") << "1";
  setenv("PYTHONPATH", path.path().c_str(), 1);
  EXPECT_TRUE(told([&] { std::ofstream(path.path() / "more.py") << "2"; }));
  unsetenv("PYTHONPATH");
}

TEST_F(ProgramFilesTest, WhatIsInstalledIsNotLookedInto) {
  write("env/pyvenv.cfg", "");
  write("env/bin/tool", "#!/bin/sh\n");
  const auto tool = [&] { return program_files({at("env/bin/tool")}); };
  const ProgramFiles before = tool();
  write("env/bin/another", "#!/bin/sh\n");
  EXPECT_EQ(tool().sha256, before.sha256);
  EXPECT_EQ(before.files, 1);
  // Of a compiled program the libraries beside it, and nothing else.
  fs::create_directories(at("built"));
  fs::copy_file("/bin/true", at("built/engine"));
  const auto built = [&] { return sha256({at("built/engine")}); };
  const std::string alone = built();
  write("built/notes.txt", "x");
  EXPECT_EQ(built(), alone);
  write("built/libkernels.so.1", "x");
  EXPECT_NE(built(), alone);
}

TEST_F(ProgramFilesTest, ThereIsAnEnd) {
  for (int i = 0; i < kMostFiles + 10; ++i) write("many/" + std::to_string(i), "");
  const ProgramFiles found = program_files({"python3", at("engine.py")});
  EXPECT_EQ(found.files, kMostFiles);
  EXPECT_TRUE(found.not_all);
  EXPECT_FALSE(program_files({"python3"}).not_all);
}

}  // namespace
}  // namespace octlm::reference
