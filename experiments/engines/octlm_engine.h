// Our decoder as one side of a comparison.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "model/fault.h"
#include "model/observer.h"
#include "reference/engine.h"

namespace octlm::experiments {

struct OctlmEngineOptions {
  std::filesystem::path folder;
  // A dtype and device of model/backends.h; float64 is the definition, what every op means.
  std::string dtype = "float32";
  std::string device = "cpu";
  // 0 = the CPUs this process may run on.
  int threads = 0;
  // "" = the best this CPU has.
  std::string instruction_set = {};
  // For the decoder; null as a rule, else they outlive the engine.
  model::Observer* observer = nullptr;
  const model::Fault* fault = nullptr;
};

// Opens the checkpoint and makes a decoder for it. Throws std::invalid_argument for a dtype or
// device this build does not have (name what it has), std::runtime_error for a bad checkpoint.
std::unique_ptr<reference::Engine> make_octlm_engine(const OctlmEngineOptions& options);

// What it can do in this build, whatever the checkpoint.
reference::Capabilities octlm_capabilities();

// The version of the decoder in records: the project's version.
const char* octlm_version();

}  // namespace octlm::experiments
