#include "formats/input_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

#include "formats/error.h"

namespace octlm::formats {
namespace {

struct Descriptor {
  int number;
  explicit Descriptor(int opened) : number(opened) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (number >= 0) ::close(number);
  }
};

}  // namespace

std::string read_file(const std::filesystem::path& file, std::size_t limit_bytes) {
  const std::string where = file.string();
  // O_NONBLOCK: opening a FIFO must fail the check below, not wait for a writer.
  const Descriptor opened(::open(where.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (opened.number < 0) refuse(where, std::string("cannot be opened: ") + std::strerror(errno));
  struct stat status {};
  if (::fstat(opened.number, &status) != 0) {
    refuse(where, std::string("cannot be examined: ") + std::strerror(errno));
  }
  if (!S_ISREG(status.st_mode)) refuse(where, "not a regular file");
  if (static_cast<std::uint64_t>(status.st_size) > limit_bytes) {
    refuse(where, std::to_string(status.st_size) + " bytes, expected at most " +
                      std::to_string(limit_bytes));
  }
  std::string text(static_cast<std::size_t>(status.st_size), '\0');
  std::size_t filled = 0;
  while (filled < text.size()) {
    const ssize_t got = ::read(opened.number, text.data() + filled, text.size() - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) refuse(where, "cannot be read to its end; was it changed meanwhile?");
    filled += static_cast<std::size_t>(got);
  }
  return text;
}

}  // namespace octlm::formats
