// The Environment of a run on this machine: checkpoints from the cache or the command line, our decoder
// as the subject, Transformers in this process (or logits recorded earlier) as the reference.
#pragma once

#include <filesystem>
#include <optional>

#include "experiments/checkpoint_store.h"
#include "experiments/environment.h"

namespace octlm::experiments {

struct LocalOptions {
  ModelPaths models;
  // The folder of recorded logits to use in place of Transformers: --reference DIR.
  std::optional<std::filesystem::path> recorded;
  int threads = 0;  // for both sides; 0 = the CPUs this process may run on
};

Environment local_environment(const LocalOptions& options);

// The python of the project's environment: $OCTLM_VENV_PYTHON, else .venv/bin/python of the checkout.
std::filesystem::path environment_python();
// The checkout this program works for: $OCTLM_ROOT, else where it was built.
std::filesystem::path checkout_root();
// CPUs this process may run on.
int available_cpus();

}  // namespace octlm::experiments
