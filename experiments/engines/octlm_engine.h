// Our decoder as one side of a comparison.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "reference/engine.h"

namespace octlm::experiments {

struct OctlmEngineOptions {
  std::filesystem::path folder;
  std::string dtype = "float32";  // "float32", or "float64": plain loops, what every op means
  std::string device = "cpu";
  int threads = 0;              // 0 = the CPUs this process may run on
  std::string instruction_set;  // "" = the best this CPU has
};

// Opens the checkpoint and makes a decoder for it. Throws std::invalid_argument for a dtype or
// device this build does not have (name what it has), std::runtime_error for a bad checkpoint.
std::unique_ptr<reference::Engine> make_octlm_engine(const OctlmEngineOptions& options);

// What it can do in this build, whatever the checkpoint.
reference::Capabilities octlm_capabilities();

// The version of the decoder in records: the project's version.
const char* octlm_version();

}  // namespace octlm::experiments
