// The two CPU backends; model/backends.h chooses by device and dtype.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "model/ops/backend.h"

namespace octlm::model::cpu {

struct Options {
  // Threads that compute, the caller among them; 0 = the CPUs this process may run on.
  int threads = 0;
  // "" = the best this CPU has; else one of instruction_sets(), to compare them.
  std::string instruction_set;
};

// float32 activations; float32 accumulation; the same input gives the same bits, run after run,
// with any number of threads.
std::unique_ptr<Backend> make_backend(const Options& options);

// The definition: float64 activations and arithmetic, plain loops, rows spread over threads.
std::unique_ptr<Backend> make_definition(const Options& options);

// The instruction sets compiled in that this CPU can execute, best first: "avx512", "avx2",
// "generic".
std::vector<std::string> instruction_sets();

}  // namespace octlm::model::cpu
