// octlm-supervisor FOLDER PROGRAM ARGUMENTS...
// Stands between octlm and a program of somebody else's, so that the program ends when octlm does:
// a process that is killed can clean up nothing, but its end closes a pipe, and this one waits for
// that. It is the reaper of all that the program starts: what leaves the process group or the
// session, or outlives its parent, becomes its child (PR_SET_CHILD_SUBREAPER) and is found. When it
// is itself killed, the program is too (PR_SET_PDEATHSIG).
//
// A program of its own and no fork of octlm: between fork and exec a process with threads may call
// next to nothing, and a fork that stays would keep a copy of every page that octlm changes later.
// What hands itself to another service (systemd-run, at) is out of its reach.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "reference/process/supervision.h"

namespace octlm::reference {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kGrace{2};        // between SIGTERM and SIGKILL
constexpr std::chrono::seconds kUnkillable{10};  // what may not be killed is given up then

void report(const SupervisorReport& report) {
  while (write(STDOUT_FILENO, &report, sizeof report) < 0 && errno == EINTR) {
  }
}

// The fourth field of /proc/PID/stat, past a name that may hold anything; 0 when it is gone.
pid_t parent_of(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string text;
  std::getline(file, text, '\0');
  const std::size_t name_end = text.rfind(") ");
  if (name_end == std::string::npos || name_end + 4 >= text.size()) return 0;
  pid_t parent = 0;
  std::from_chars(text.data() + name_end + 4, text.data() + text.size(), parent);
  return parent;
}

// Children, their children, and so on.
std::set<pid_t> descendants() {
  std::vector<std::pair<pid_t, pid_t>> parents;
  std::error_code error;
  for (fs::directory_iterator at("/proc", error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    pid_t process = 0;
    const auto [stop, bad] = std::from_chars(name.data(), name.data() + name.size(), process);
    if (bad == std::errc{} && *stop == '\0') parents.emplace_back(process, parent_of(process));
  }
  std::set<pid_t> family = {getpid()};
  for (std::size_t before = 0; before != family.size();) {
    before = family.size();
    for (const auto& [process, parent] : parents) {
      if (family.contains(parent)) family.insert(process);
    }
  }
  family.erase(getpid());
  return family;
}

void open_as(const fs::path& file, int flags, int descriptor) {
  const int opened = open(file.c_str(), flags, 0600);
  if (opened < 0 || dup2(opened, descriptor) < 0) throw errno;
  close(opened);
}

// What becomes the program. Returns errno.
int become(const fs::path& folder, char** words, pid_t supervisor) {
  try {
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != supervisor) _exit(1);  // it ended before the line above
    constexpr int kNew = O_WRONLY | O_CREAT | O_TRUNC | O_APPEND;
    open_as(folder / "stdin", O_RDONLY, STDIN_FILENO);
    open_as(folder / "stdout", kNew, STDOUT_FILENO);
    open_as(folder / "stderr", kNew, STDERR_FILENO);
    for (int number = 1; number < NSIG; ++number) signal(number, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    execvp(words[0], words);
    return errno;
  } catch (int error) {
    return error;
  }
}

class Supervisor {
 public:
  Supervisor(fs::path folder, char** words) : folder_(std::move(folder)) {
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child, nullptr);
    children_ = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    start(words);
  }

  void serve() {
    while (!leaving_ || !ended_) {
      std::array<pollfd, 3> ends{
          {{leaving_ ? -1 : STDIN_FILENO, POLLIN, 0}, {children_, POLLIN, 0}, {exec_, POLLIN, 0}}};
      poll(ends.data(), ends.size(), term_ && !ended_ ? 20 : -1);
      if (ends[0].revents != 0) hear();
      if (ends[2].revents != 0) hear_exec();
      look();
    }
    if (orphaned_) {
      std::error_code ignored;
      fs::remove_all(folder_, ignored);
    }
  }

 private:
  void start(char** words) {
    std::array<int, 2> ends{-1, -1};  // closed by exec; holds errno when there was none
    if (pipe2(ends.data(), O_CLOEXEC) != 0) return not_started(errno);
    const pid_t self = getpid();
    program_ = fork();
    if (program_ < 0) return not_started(errno);
    if (program_ == 0) {
      const int error = become(folder_, words, self);
      while (write(ends[1], &error, sizeof error) < 0 && errno == EINTR) {
      }
      _exit(127);
    }
    setpgid(program_, program_);
    close(ends[1]);
    exec_ = ends[0];
  }

  void hear_exec() {
    int error = 0;
    const ssize_t count = read(exec_, &error, sizeof error);
    if (count < 0 && errno == EINTR) return;
    close(std::exchange(exec_, -1));
    if (count == sizeof error) return not_started(error);
    report({SupervisorReport::kStarted, program_, 0});
  }

  void not_started(int error) {
    report({SupervisorReport::kNotStarted, error, 0});
    kill_all();
    ended_ = leaving_ = true;
  }

  void hear() {
    char word = 0;
    const ssize_t count = read(STDIN_FILENO, &word, 1);
    if (count < 0 && errno == EINTR) return;
    orphaned_ = count <= 0;
    leaving_ = orphaned_ || word == kLeave;
    if (ended_ || term_) return;
    term_ = Clock::now();
    kill(-program_, SIGTERM);
  }

  // Whether the program has ended, or must. Its id is not given away before its group is killed.
  void look() {
    signalfd_siginfo ignored;
    while (read(children_, &ignored, sizeof ignored) > 0) {
    }
    if (ended_) return;
    siginfo_t info{};
    for (;;) {
      info.si_pid = 0;
      if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) break;
      if (info.si_pid == program_) break;
      waitpid(info.si_pid, nullptr, 0);  // an orphan of the program's
    }
    const bool late = term_ && Clock::now() - *term_ > kGrace;
    if (info.si_pid != program_ && !late) return;
    kill_all();
    ended_ = true;
    report({SupervisorReport::kEnded, status_, peak_bytes_});
  }

  // Until there is no child left: whoever loses its parent becomes one.
  void kill_all() {
    if (program_ > 0) kill(-program_, SIGKILL);
    for (const auto start = Clock::now(); Clock::now() - start < kUnkillable;) {
      for (const pid_t process : descendants()) kill(process, SIGKILL);
      if (!reap()) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  // False when there is nobody left to wait for.
  bool reap() {
    for (;;) {
      int status = 0;
      rusage usage{};
      const pid_t process = wait4(-1, &status, WNOHANG, &usage);
      if (process < 0 && errno == EINTR) continue;
      if (process <= 0) return process == 0;
      if (process != program_) continue;
      status_ = status;
      peak_bytes_ = static_cast<std::int64_t>(usage.ru_maxrss) * 1024;
    }
  }

  fs::path folder_;
  int children_ = -1;  // SIGCHLD, as a file
  int exec_ = -1;      // at its end the program is what was asked for
  pid_t program_ = -1;
  std::optional<Clock::time_point> term_;  // when it was asked to end
  bool ended_ = false, leaving_ = false, orphaned_ = false;
  int status_ = 0;
  std::int64_t peak_bytes_ = 0;
};

}  // namespace
}  // namespace octlm::reference

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  setsid();  // no signal of the terminal's reaches it, or the program
  for (const int number : {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE, SIGTSTP, SIGUSR1, SIGUSR2})
    signal(number, SIG_IGN);
  octlm::reference::Supervisor(argv[1], argv + 2).serve();
}
