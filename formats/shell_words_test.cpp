#include "formats/shell_words.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdio>

namespace octlm::formats {
namespace {

// What bash makes of `printf %s WORD`.
std::string read_back(const std::string& word) {
  const std::string command = "exec bash -c \"$(cat <<'END'\nprintf %s " + word + "\nEND\n)\"";
  std::FILE* pipe = ::popen(command.c_str(), "r");
  std::string text;
  std::array<char, 256> block;
  while (const std::size_t got = std::fread(block.data(), 1, block.size(), pipe))
    text.append(block.data(), got);
  ::pclose(pipe);
  return text;
}

// vllm-project/vllm#33545: a command that was printed does not work when it is typed.
TEST(ShellWords, AreReadBackAsTheyWere) {
  for (const std::string word :
       {"plain",      "with space", "a'b",         "a\"b",        "$HOME",
        "`id`",       "a\\b",       "*",           "~",           "#x",
        "a;b",        "a&b",        "!x",          "line\nbreak", "tab\t'quote'\\",
        "\x1b[31m",   "\x7f",       "caf\xc3\xa9", "{a,b}",       "-x",
        "NAME=/a b/c"}) {
    EXPECT_EQ(read_back(shell_quoted(word)), word);
    EXPECT_EQ(shell_quoted(word).find('\n'), std::string::npos);
  }
  EXPECT_EQ(shell_quoted("plain/x=1"), "plain/x=1");
  EXPECT_EQ(shell_quoted(""), "''");
  EXPECT_EQ(shell_file("-x.json"), "./-x.json");
  EXPECT_EQ(shell_file("a b.json"), "'a b.json'");
}

}  // namespace
}  // namespace octlm::formats
