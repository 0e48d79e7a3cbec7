// What octlm and octlm-supervisor (supervisor.cpp) say to each other: words on the supervisor's
// stdin, reports on its stdout, which are one socket that keeps messages apart.
#pragma once

#include <cstdint>

namespace octlm::reference {

// One byte each. The end of the stream without kLeave means that octlm has ended, however that was.
inline constexpr char kEndProgram = 'e';  // SIGTERM, two seconds, SIGKILL; the supervisor stays
inline constexpr char kLeave = 'q';       // the same, and the supervisor ends; the folder stays

struct SupervisorReport {
  enum Kind : std::int32_t { kStarted, kNotStarted, kEnded };
  std::int32_t kind = kStarted;
  std::int32_t value = 0;       // process id; errno; status as of wait()
  std::int64_t peak_bytes = 0;  // kEnded: of the resident set
};

}  // namespace octlm::reference
