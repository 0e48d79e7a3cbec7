#include "verify/provenance.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <memory>
#include <sstream>
#include <thread>

#include "formats/shell_words.h"
#include "verify/code_hash.h"

namespace octlm::verify {
namespace {

// The value of "key : value" or KEY=value in a file, first occurrence; "" when absent.
std::string value_in(const char* file, const std::string& key, char separator) {
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) {
    const std::size_t at = line.find(separator);
    if (at == std::string::npos || !line.starts_with(key)) continue;
    const std::size_t value = line.find_first_not_of(" \t\"", at + 1);
    if (value == std::string::npos) return "";
    line = line.substr(value);
    line.erase(line.find_last_not_of(" \t\"") + 1);
    return line;
  }
  return "";
}

// The instruction sets that change how fast, and in which order, we and the reference add.
nlohmann::json processor_features() {
  constexpr std::array kRecorded = {"avx",         "f16c",     "fma",         "avx2",
                                    "avx512f",     "avx512bw", "avx512_vnni", "avx512_bf16",
                                    "avx512_fp16", "avx_vnni", "amx_bf16",    "amx_int8",
                                    "asimd",       "asimdhp",  "bf16",        "sve"};
  std::string flags = value_in("/proc/cpuinfo", "flags", ':');
  if (flags.empty()) flags = value_in("/proc/cpuinfo", "Features", ':');
  nlohmann::json features = nlohmann::json::array();
  std::istringstream words(flags);
  for (std::string word; words >> word;) {
    for (const char* recorded : kRecorded) {
      if (word == recorded) features.push_back(word);
    }
  }
  return features;
}

std::string kernel() {
  utsname name = {};
  if (::uname(&name) != 0) return "unknown";
  return std::string(name.sysname) + " " + name.release + " " + name.machine;
}

std::string or_unknown(std::string text) { return text.empty() ? "unknown" : text; }

const char* compiler() {
#if defined(__clang__)
  return "clang " __clang_version__;
#else
  return "gcc " __VERSION__;
#endif
}

}  // namespace

std::string code_sha256() { return kCodeSha256; }

std::string version() { return kVersion; }

std::optional<std::string> git_output(const std::filesystem::path& root,
                                      const std::vector<std::string>& arguments) {
  std::string command = "git -C " + formats::posix_quoted(root.string());
  for (const std::string& argument : arguments) command += " " + formats::posix_quoted(argument);
  std::FILE* pipe = ::popen((command + " 2>/dev/null").c_str(), "re");
  if (pipe == nullptr) return std::nullopt;
  std::string output;
  std::array<char, 4096> buffer;
  while (const std::size_t got = std::fread(buffer.data(), 1, buffer.size(), pipe)) {
    output.append(buffer.data(), got);
  }
  if (::pclose(pipe) != 0) return std::nullopt;
  return output;
}

std::string utc_now() { return utc_now_precise().substr(0, 19) + "Z"; }

std::string utc_now_precise() {
  using namespace std::chrono;
  const auto now = system_clock::now();
  const std::time_t second = system_clock::to_time_t(floor<seconds>(now));
  std::tm parts = {};
  gmtime_r(&second, &parts);
  char date[32], text[48];
  std::strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &parts);
  const auto fraction = duration_cast<microseconds>(now - floor<seconds>(now)).count();
  std::snprintf(text, sizeof text, "%s.%06dZ", date, static_cast<int>(fraction));
  return text;
}

Checkout checkout_state(const std::filesystem::path& root) {
  Checkout state;
  const auto commit = git_output(root, {"rev-parse", "HEAD"});
  if (!commit) return state;
  state.commit = commit->substr(0, commit->find('\n'));
  if (const auto changes = git_output(root, {"status", "--porcelain"}))
    state.dirty = !changes->empty();
  return state;
}

nlohmann::json machine_json() {
  const long pages = ::sysconf(_SC_PHYS_PAGES);
  const long page = ::sysconf(_SC_PAGE_SIZE);
  return {
      {kProcessor,
       {{"model", or_unknown(value_in("/proc/cpuinfo", "model name", ':'))},
        {"features", processor_features()}}},
      {"threads", std::thread::hardware_concurrency()},
      {"memory_bytes", static_cast<std::int64_t>(pages) * page},
      {"os", or_unknown(value_in("/etc/os-release", "PRETTY_NAME", '='))},
      {"kernel", kernel()},
      {"compiler", compiler()},
  };
}

std::string command_line(int argc, const char* const* argv) {
  std::string line;
  for (int i = 0; i < argc; ++i) line += (i ? " " : "") + formats::shell_quoted(argv[i]);
  return line;
}

}  // namespace octlm::verify
