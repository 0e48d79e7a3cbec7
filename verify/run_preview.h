// What a run would do, worked out without doing it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "verify/runner.h"

namespace octlm::verify {

struct RunPreview {
  struct Device {
    std::string name;
    std::int64_t comparisons = 0;
    std::int64_t kept = 0;  // of which the interrupted run that it goes on with has finished
  };
  struct Experiment {
    std::vector<Device> devices;
    Trust trust;  // its label, as the ledger stands
  };
  std::vector<Experiment> experiments;  // one for each item, in their order
};

// Refuses, by the same exceptions, what run() would refuse before it writes anything; writes
// nothing.
RunPreview preview(const RunOptions& options, const std::vector<RunItem>& items);

}  // namespace octlm::verify
