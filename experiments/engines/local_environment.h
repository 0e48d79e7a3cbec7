// The Environment of a run on this machine: checkpoints from the cache or the command line, our
// decoder or a user's program as the subject, Transformers in this process (or logits recorded
// earlier) as the reference.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "experiments/engines/checkpoint_store.h"
#include "experiments/engines/environment.h"
#include "reference/recorded/recorded.h"

namespace octlm::experiments {

struct LocalOptions {
  ModelPaths models;
  // The folder of recorded logits to use in place of Transformers: --reference DIR.
  std::optional<std::filesystem::path> recorded;
  // The words of a program to put under test in place of our decoder (reference/process/process.h):
  // --subject CMD.
  std::vector<std::string> subject;
  double subject_silence_s = 600;  // it is stopped after so long without a sign of life
  int threads = 0;                 // for both sides; 0 = the CPUs this process may run on
};

Environment local_environment(const LocalOptions& options);

// What a recording for this model was, or has to be, made from.
reference::RecordingKey recording_key(const ModelReference& model, const std::string& dtype,
                                      const std::string& attention);

// The python of the project's environment: $OCTLM_VENV_PYTHON, else .venv/bin/python of the
// checkout.
std::filesystem::path environment_python();
// The checkout this program works for: $OCTLM_ROOT, else where it was built.
std::filesystem::path checkout_root();
// CPUs this process may run on.
int available_cpus();

}  // namespace octlm::experiments
