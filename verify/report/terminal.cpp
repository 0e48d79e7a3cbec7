#include "verify/report/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

namespace octlm::verify {
namespace {

std::string_view variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

bool can_redraw(int descriptor) {
  const std::string_view kind = variable("TERM");
  return isatty(descriptor) != 0 && variable("NO_COLOR").empty() && !kind.empty() && kind != "dumb";
}

std::size_t terminal_columns(int descriptor) {
  struct winsize size = {};
  if (ioctl(descriptor, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

}  // namespace octlm::verify
