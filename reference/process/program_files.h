// What a program of the user's is made of, as far as its command line shows: which of two attempts
// were made with the same one is told by these bytes, and by the version that it states.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace octlm::reference {

struct ProgramFiles {
  std::string sha256;      // over names and contents, in order
  std::int64_t files = 0;  // that went into it
  bool not_all = false;    // there are more than are looked at
};

// Files that the words name (`PROGRAM`, `--option=FILE`; the program itself is looked up on PATH),
// and files found beside a script or program among them, which it may import or load: those of its
// folder and the folders in it, of PYTHONPATH's, and of the current folder for `-m MODULE`. Left
// out are hidden names, caches (__pycache__, node_modules, *.pyc), what a program leaves behind
// (*.log, *.tmp, *.partial), and folders that hold a run, a journal or a recording. A folder of
// PATH or of a Python environment is not looked into, and of a compiled program's only the shared
// libraries. At most kMostFiles files; one beyond kLargestFile counts by size and time.
ProgramFiles program_files(const std::vector<std::string>& command);
inline constexpr std::int64_t kMostFiles = 2000;
inline constexpr std::int64_t kLargestFile = std::int64_t{64} << 20;

}  // namespace octlm::reference
