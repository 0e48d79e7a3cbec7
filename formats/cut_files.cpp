// The handler puts a page of zeros at the faulting address and returns: the access is repeated and
// succeeds. mmap and an atomic flag are all it uses, so it may interrupt anything.
#include "formats/cut_files.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

namespace octlm::formats {
namespace {

std::atomic<bool> seen = false;
static_assert(std::atomic<bool>::is_always_lock_free);
std::uintptr_t page_bytes = 0;
struct sigaction before = {};

bool put_zeros(void* address) {
  const auto page = reinterpret_cast<std::uintptr_t>(address) & ~(page_bytes - 1);
  void* const at = reinterpret_cast<void*>(page);  // NOLINT(performance-no-int-to-ptr)
  return ::mmap(at, page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
                0) == at;
}

void on_bus_error(int signal, siginfo_t* info, void* context) {
  if (info->si_code == BUS_ADRERR && put_zeros(info->si_addr)) {
    seen = true;
    return;
  }
  if (info->si_code <= 0) {  // sent, not a fault: it does not come again by itself
    ::sigaction(SIGBUS, &before, nullptr);
    ::raise(SIGBUS);
    return;
  }
  if ((before.sa_flags & SA_SIGINFO) != 0 && before.sa_sigaction != nullptr) {
    before.sa_sigaction(signal, info, context);
  } else {
    ::sigaction(SIGBUS, &before, nullptr);  // the access is repeated, and does what it did before
  }
}

}  // namespace

void outlive_cut_files() {
  page_bytes = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  struct sigaction action = {};
  action.sa_sigaction = on_bus_error;
  action.sa_flags = SA_SIGINFO;
  ::sigaction(SIGBUS, &action, &before);
}

bool cut_files() { return seen; }

}  // namespace octlm::formats
