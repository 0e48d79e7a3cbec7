#include "reference/process/subprocess.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <utility>

#include "reference/process/supervision.h"

namespace octlm::reference {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::string seconds_text(double seconds) {
  std::ostringstream text;
  text << seconds << " s";
  return text.str();
}

std::function<bool()> stop_asked;  // stop_programs_when()

// The supervisor's files and signals; freed whatever happens.
struct SpawnPlan {
  posix_spawn_file_actions_t files{};
  posix_spawnattr_t attributes{};

  explicit SpawnPlan(int line) {
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, line, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&files, line, STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addclosefrom_np(&files, 3);
    posix_spawnattr_init(&attributes);
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  }
  ~SpawnPlan() {
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;
};

// A message is read whole or not at all, and one to a supervisor that is gone is no SIGPIPE.
struct Line {
  std::array<int, 2> ends{-1, -1};

  Line() {
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0)
      throw std::runtime_error("cannot be started: " + std::string(std::strerror(errno)));
  }
  ~Line() {
    for (const int end : ends) {
      if (end >= 0) close(end);
    }
  }
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;
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
  Line line;
  const SpawnPlan plan(line.ends[1]);
  std::vector<char*> all = {const_cast<char*>(OCTLM_SUPERVISOR),
                            const_cast<char*>(folder_.c_str())};
  for (const std::string& word : argv) all.push_back(const_cast<char*>(word.c_str()));
  all.push_back(nullptr);
  const int error =
      posix_spawn(&supervisor_, all[0], &plan.files, &plan.attributes, all.data(), environ);
  if (error != 0) {
    throw std::runtime_error("cannot be started: " OCTLM_SUPERVISOR ": " +
                             std::string(std::strerror(error)) + "; remedy: build it again");
  }
  line_ = std::exchange(line.ends[0], -1);
  close(std::exchange(line.ends[1], -1));
  const SupervisorReport first =
      next_report().value_or(SupervisorReport{SupervisorReport::kNotStarted, ECHILD});
  if (first.kind == SupervisorReport::kNotStarted) {
    leave();
    throw std::runtime_error("cannot be started: " + std::string(std::strerror(first.value)));
  }
  pid_ = first.value;
  fcntl(line_, F_SETFL, O_NONBLOCK);
}

Subprocess::~Subprocess() {
  end();
  leave();
}

void Subprocess::tell(char word) {
  while (send(line_, &word, 1, MSG_NOSIGNAL) < 0 && errno == EINTR) {
  }
}

void Subprocess::leave() {
  tell(kLeave);
  close(line_);
  while (waitpid(supervisor_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

// Absent: none yet. A supervisor that is gone was killed, and the program with it.
std::optional<SupervisorReport> Subprocess::next_report() {
  SupervisorReport report;
  ssize_t count = 0;
  while ((count = recv(line_, &report, sizeof report, 0)) < 0 && errno == EINTR) {
  }
  if (count == sizeof report) return report;
  const bool gone = count == 0 || errno == ECONNRESET;
  if (gone && pid_ != 0) return SupervisorReport{SupervisorReport::kEnded, SIGKILL, 0};
  return std::nullopt;
}

bool Subprocess::poll() {
  if (ended_) return true;
  const auto report = next_report();
  if (!report) return false;
  status_ = report->value;
  peak_bytes_ = report->peak_bytes;
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
    if (stop_asked && stop_asked()) {
      broken = "was waited for when the run was interrupted";
    } else if (now > limits.folder_bytes) {
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
  tell(kEndProgram);
  while (!poll()) std::this_thread::sleep_for(milliseconds(5));
}

void stop_programs_when(std::function<bool()> asked) { stop_asked = std::move(asked); }

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
