// Hugging Face Transformers as an engine, running in this process (transformers_reference.py).
#pragma once

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "reference/engine.h"

namespace octlm::reference {

struct TransformersOptions {
  std::filesystem::path python;     // the environment's interpreter (python.h)
  std::filesystem::path folder;     // the checkpoint
  std::string dtype = "float32";    // float32, float16, bfloat16
  std::string device = "cpu";       // cpu, cuda
  std::string attention = "eager";  // eager, sdpa
  int threads = 0;                  // torch's intra-op threads; 0 leaves torch's own choice
  bool tf32 = false;                // only a control turns it on
};

// Loads the checkpoint. A session is a DynamicCache, or none where one append is all there will be
// and fits one forward call. An append that may be split is made of calls of up to 2,048 positions,
// as calls() shows: so is a long prompt on the path `full`. One sequence at a time, so there is
// neither padding nor a mask to get wrong.
// Logits cross without a copy, in blocks of up to 48 MiB. description().settings is read back from
// torch and from the loaded model. peak_bytes(): see Engine.peak_bytes in
// transformers_reference.py: a lower bound on the CPU.
//
// Throws std::invalid_argument for options out of the lists above, std::runtime_error for an
// environment or a checkpoint that cannot be loaded (missing, unexpected or misshaped tensors
// included).
//
// Threads: an engine and its sessions belong to one thread at a time. Lifetime: sessions may
// outlive the engine.
std::unique_ptr<Engine> make_transformers(const TransformersOptions& options);

// What it can do, whatever the checkpoint and the machine.
Capabilities transformers_capabilities();

// Whether the modules that are loaded are those that their wheels brought (reference_files.py).
struct ReferenceFiles {
  std::vector<std::string> reasons;  // why a comparison with it does not count; empty: they are
  nlohmann::json record;  // {files, distributions, sha256}: how many, and a digest of all
};
// Some seconds for the first time, half a second later. `load`: what a comparison loads is loaded
// first. REQUIRES: Python was started. Throws std::runtime_error when that cannot be told.
ReferenceFiles reference_files(bool load);

// For `octlm doctor`: versions of Python and of the packages, torch's threads and libraries, the
// GPU. Never throws for a package that is missing or broken: its entry says so.
nlohmann::json python_environment(const std::filesystem::path& python);

}  // namespace octlm::reference
