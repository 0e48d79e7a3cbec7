#include "experiments/commands/open_page.h"

#include <fcntl.h>
#include <spawn.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

namespace octlm::experiments {
namespace {

#ifdef __APPLE__
constexpr const char* kOpener = "open";
bool has_display() { return true; }
#else
constexpr const char* kOpener = "xdg-open";
bool is_set(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0';
}
bool has_display() { return is_set("DISPLAY") || is_set("WAYLAND_DISPLAY"); }
#endif

}  // namespace

std::string open_page(const std::filesystem::path& page) {
  if (!has_display()) return "there is no display here";
  // In a session of its own, without our streams: a browser outlives this program.
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_t actions;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  for (const int stream : {STDOUT_FILENO, STDERR_FILENO})
    posix_spawn_file_actions_addopen(&actions, stream, "/dev/null", O_WRONLY, 0);
  std::string program = kOpener, path = std::filesystem::absolute(page).string();
  char* words[] = {program.data(), path.data(), nullptr};
  pid_t child = 0;
  const int failed = posix_spawnp(&child, kOpener, &actions, &attributes, words, environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  return failed == 0 ? "" : program + ": " + std::strerror(failed);
}

}  // namespace octlm::experiments
