#include "reference/process/subprocess.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <utility>

namespace octlm::reference {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kGrace{2000};  // between SIGTERM and SIGKILL

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::string seconds_text(double seconds) {
  std::ostringstream text;
  text << seconds << " s";
  return text.str();
}

// What posix_spawn is told; freed whatever happens.
struct SpawnPlan {
  posix_spawn_file_actions_t files{};
  posix_spawnattr_t attributes{};

  explicit SpawnPlan(const fs::path& folder) {
    posix_spawn_file_actions_init(&files);
    const std::string in = folder / "stdin", out = folder / "stdout", error = folder / "stderr";
    posix_spawn_file_actions_addopen(&files, 0, in.c_str(), O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files, 1, out.c_str(),
                                     O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0600);
    posix_spawn_file_actions_addopen(&files, 2, error.c_str(),
                                     O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0600);
    posix_spawn_file_actions_addclosefrom_np(&files, 3);
    posix_spawnattr_init(&attributes);
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(
        &attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  }
  ~SpawnPlan() {
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;
};

}  // namespace

std::int64_t folder_bytes(const fs::path& folder) {
  std::int64_t sum = 0;
  std::error_code error;
  for (fs::recursive_directory_iterator file(folder, error), end; !error && file != end;
       file.increment(error)) {
    std::error_code gone;
    const auto size = file->is_symlink(gone) ? 0 : file->file_size(gone);
    if (!gone) sum += static_cast<std::int64_t>(size);
  }
  return sum;
}

ScratchFolder::ScratchFolder() {
  std::string name = (fs::temp_directory_path() / "octlm-subject-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) {
    throw std::runtime_error("[subprocess] " + name + " cannot be made: " + std::strerror(errno));
  }
  path_ = name;
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

Subprocess::Subprocess(const std::vector<std::string>& argv, fs::path folder)
    : folder_(std::move(folder)) {
  const SpawnPlan plan(folder_);
  std::vector<char*> words;
  for (const std::string& word : argv) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  const int error =
      posix_spawnp(&pid_, words[0], &plan.files, &plan.attributes, words.data(), environ);
  if (error != 0)
    throw std::runtime_error("cannot be started: " + std::string(std::strerror(error)));
}

Subprocess::~Subprocess() { end(); }

// Looks whether it has ended, and then ends what is left of its group before its id can be given
// away.
bool Subprocess::poll() {
  if (ended_) return true;
  siginfo_t info{};
  if (waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
      info.si_pid != pid_) {
    return false;
  }
  kill(-pid_, SIGKILL);
  rusage usage{};
  while (wait4(pid_, &status_, 0, &usage) < 0 && errno == EINTR) {
  }
  peak_bytes_ = static_cast<std::int64_t>(usage.ru_maxrss) * 1024;
  return ended_ = true;
}

bool Subprocess::wait(const SubprocessLimits& limits, const std::function<bool()>& enough,
                      const std::function<void(milliseconds)>& pause) {
  const auto start = Clock::now();
  auto sign_of_life = start;
  std::int64_t bytes = -1;
  for (milliseconds time{1}; !poll(); time = std::min(time * 2, milliseconds(20))) {
    const std::int64_t now = folder_bytes(folder_);
    if (std::exchange(bytes, now) != now) sign_of_life = Clock::now();
    std::string broken;
    if (now > limits.folder_bytes) {
      broken = "has written " + std::to_string(now) + " bytes, more than the " +
               std::to_string(limits.folder_bytes) + " that an answer can need";
    } else if (seconds_since(sign_of_life) > limits.silence_s) {
      broken = "gave no sign of life for " + seconds_text(limits.silence_s);
    } else if (seconds_since(start) > 10 * limits.silence_s) {
      broken = "had not ended after " + seconds_text(10 * limits.silence_s);
    }
    if (!broken.empty()) {
      end();
      throw std::runtime_error(broken + " and was stopped");
    }
    if (enough && enough()) return false;
    if (pause) {
      pause(time);
    } else {
      std::this_thread::sleep_for(time);
    }
  }
  return true;
}

void Subprocess::end() {
  if (poll()) return;
  kill(-pid_, SIGTERM);
  for (const auto start = Clock::now(); Clock::now() - start < kGrace;) {
    if (poll()) return;
    std::this_thread::sleep_for(milliseconds(5));
  }
  kill(-pid_, SIGKILL);
  while (!poll()) std::this_thread::sleep_for(milliseconds(1));
}

std::int64_t Subprocess::peak_bytes() const {
  if (ended_) return peak_bytes_;
  std::ifstream status("/proc/" + std::to_string(pid_) + "/status");
  for (std::string line; std::getline(status, line);) {  // "VmHWM:   12345 kB"
    if (line.starts_with("VmHWM:")) return 1024 * std::atoll(line.c_str() + 6);
  }
  return 0;
}

std::string Subprocess::failure() const {
  if (WIFSIGNALED(status_)) {
    return "signal " + std::to_string(WTERMSIG(status_)) + " (" + strsignal(WTERMSIG(status_)) +
           ")";
  }
  const int code = WEXITSTATUS(status_);
  return code == 0 ? "" : "exit code " + std::to_string(code);
}

}  // namespace octlm::reference
