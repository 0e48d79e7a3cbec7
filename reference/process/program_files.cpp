#include "reference/process/program_files.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string_view>

#include "formats/sha256.h"

namespace octlm::reference {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kMostEntries = 20'000;  // looked at, of files and folders
constexpr int kDeepest = 8;

std::vector<fs::path> folders_of(const char* variable) {
  const char* value = std::getenv(variable);
  std::istringstream text(value != nullptr ? value : "");
  std::vector<fs::path> folders;
  for (std::string one; std::getline(text, one, ':');) {
    std::error_code ignored;
    if (!one.empty()) folders.push_back(fs::weakly_canonical(one, ignored));
  }
  return folders;
}

bool is_file(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

bool is_folder(const fs::path& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

// Programs and scripts, not data: they are what imports and loads.
bool is_script(const fs::path& file) {
  constexpr std::array kEndings = {".py", ".sh", ".pl", ".rb", ".js", ".mjs", ".lua", ".jl", ".R"};
  if (std::ranges::find(kEndings, file.extension().string()) != kEndings.end()) return true;
  std::array<char, 2> start{};
  std::ifstream(file, std::ios::binary).read(start.data(), start.size());
  return start[0] == '#' && start[1] == '!';
}

bool is_compiled(const fs::path& file) {
  std::array<char, 4> start{};
  std::ifstream(file, std::ios::binary).read(start.data(), start.size());
  return std::string_view(start.data(), start.size()) == "\177ELF";
}

bool is_left_out(const std::string& name) {
  constexpr std::array kEndings = {".pyc", ".pyo", ".log", ".tmp", ".partial", "~"};
  return name.starts_with(".") || name == "__pycache__" || name == "node_modules" ||
         std::ranges::any_of(kEndings, [&](const char* end) { return name.ends_with(end); });
}

// Of a run, a journal of runs, or a recording: written by us.
bool holds_results(const fs::path& folder) {
  return is_file(folder / "results.jsonl") || is_file(folder / "journal.jsonl") ||
         (is_file(folder / "manifest.json") && is_file(folder / "logits.0.safetensors"));
}

class Collection {
 public:
  // A file that a word names; `name` is what it is called in the digest.
  void add_file(const std::string& name, const fs::path& file) {
    if (made_.files == kMostFiles) {
      made_.not_all = true;
      return;
    }
    std::error_code error;
    const fs::path whole = fs::canonical(file, error);
    if (error || !is_file(whole) || !seen_.insert(whole).second) return;
    ++made_.files;
    text_ += identity_of(whole) + " " + name + "\n";
  }

  // What is in a folder, by name; `libraries`: only these, and no folders.
  void add_folder(const fs::path& folder, bool libraries, const std::string& name, int depth = 0) {
    std::error_code error;
    const fs::path whole = fs::canonical(folder, error);
    if (error || holds_results(whole) || !seen_.insert(whole / "").second) return;
    std::vector<fs::path> entries;
    for (fs::directory_iterator at(whole, error), end; !error && at != end; at.increment(error)) {
      if (++entries_ > kMostEntries) {
        made_.not_all = true;
        break;
      }
      if (!is_left_out(at->path().filename().string())) entries.push_back(at->path());
    }
    std::ranges::sort(entries);
    for (const fs::path& entry : entries) {
      const std::string leaf = entry.filename().string();
      if (is_folder(entry)) {
        if (libraries) continue;
        if (depth < kDeepest) add_folder(entry, false, name + leaf + "/", depth + 1);
        made_.not_all |= depth >= kDeepest;
      } else if (!libraries || leaf.find(".so") != std::string::npos) {
        add_file(name + leaf, entry);
      }
    }
  }

  ProgramFiles made() && {
    made_.sha256 = formats::sha256(text_);
    return std::move(made_);
  }
  void add_text(const std::string& text) { text_ += text; }

 private:
  static std::string identity_of(const fs::path& file) {
    std::error_code error;
    const auto size = static_cast<std::int64_t>(fs::file_size(file, error));
    if (access(file.c_str(), R_OK) != 0) return "unreadable";
    if (size <= kLargestFile) return formats::sha256_file(file);
    const auto time = fs::last_write_time(file, error).time_since_epoch().count();
    return std::to_string(size) + " bytes of " + std::to_string(time);
  }

  ProgramFiles made_;
  std::string text_;
  std::set<fs::path> seen_;
  std::int64_t entries_ = 0;
};

// The file that a word names: the program, a file, the value of an option.
fs::path named_file(const std::string& word, bool program) {
  if (is_file(word)) return word;
  if (program && word.find('/') == std::string::npos) {
    for (const fs::path& folder : folders_of("PATH")) {
      if (is_file(folder / word)) return folder / word;
    }
  }
  const auto equals = word.find('=');
  if (equals != std::string::npos && is_file(word.substr(equals + 1)))
    return word.substr(equals + 1);
  return {};
}

// Not looked into: what is there is no part of the program.
bool is_installed(const fs::path& folder) {
  const auto path = folders_of("PATH");
  return std::ranges::find(path, folder) != path.end() ||
         is_file(folder.parent_path() / "pyvenv.cfg");
}

// A link is both: where it is, which a shell script sees, and what it names, which Python does.
void add_beside(Collection& collection, const fs::path& file) {
  const bool compiled = is_compiled(file);
  if (!compiled && !is_script(file)) return;
  std::error_code ignored;
  for (const fs::path& one : {fs::absolute(file), fs::canonical(file, ignored)}) {
    const fs::path folder = fs::weakly_canonical(one.parent_path(), ignored);
    if (!is_installed(folder)) collection.add_folder(folder, compiled, "");
  }
}

}  // namespace

ProgramFiles program_files(const std::vector<std::string>& command) {
  Collection collection;
  for (std::size_t i = 0; i < command.size(); ++i) {
    const std::string& word = command[i];
    collection.add_text("word " + word + "\n");
    const fs::path file = named_file(word, i == 0);
    if (!file.empty()) {
      collection.add_file(word, file);
      add_beside(collection, file);
    } else if (is_folder(word) && is_file(fs::path(word) / "__main__.py")) {
      collection.add_folder(word, false, "");
    } else if (i > 0 && command[i - 1] == "-m") {
      const std::string top = word.substr(0, word.find('.'));
      if (is_folder(top) || is_file(top + ".py")) collection.add_folder(".", false, "");
    }
  }
  for (const fs::path& folder : folders_of("PYTHONPATH")) {
    if (!is_installed(folder)) collection.add_folder(folder, false, "");
  }
  return std::move(collection).made();
}

}  // namespace octlm::reference
