// The Environment of a run on this machine: checkpoints from the cache or the command line, and the
// engines that the spec names, but for a user's program in place of its subject, or logits recorded
// earlier in place of its reference.
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
  // What a spec may name; empty = the engines of this build.
  EngineTable engines = {};
  // The folder of recorded logits to use in place of the spec's reference: --reference DIR.
  std::optional<std::filesystem::path> recorded;
  // The words of a program to put under test in place of the spec's subject
  // (reference/process/process.h): --subject CMD.
  std::vector<std::string> subject;
  double subject_silence_s = 600;  // it is stopped after so long without a sign of life
  int threads = 0;                 // for both sides; 0 = the CPUs this process may run on
};

Environment local_environment(const LocalOptions& options);

// What a recording for this model was, or has to be, made from.
reference::RecordingKey recording_key(const ModelReference& model, const std::string& dtype,
                                      const std::string& attention, bool tf32);

// The python of the project's environment: $OCTLM_VENV_PYTHON, else .venv/bin/python of the
// checkout.
std::filesystem::path environment_python();
// The checkout this program works for: $OCTLM_ROOT, else where it was built.
std::filesystem::path checkout_root();
// CPUs this process may run on.
int available_cpus();

}  // namespace octlm::experiments
