// What kinds need from the outside: where checkpoints are, and how engines are opened. The program
// fills it from the command line (experiments/engines/local_environment.h); a test fills it with
// ten-line fakes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "reference/engine.h"
#include "reference/text_engine.h"
#include "verify/kind.h"

namespace octlm::experiments {

// The `model` member of a spec.
struct ModelReference {
  std::string id;                            // "Qwen/Qwen3-0.6B", "smollm2-135m-instruct"
  std::string revision;                      // full commit of a hub id; "" for the built ones
  std::map<std::string, std::string> files;  // file name -> sha256, lower-case hex
};

struct CheckpointFolder {
  std::filesystem::path path;
};

struct EngineRequest {
  std::string engine;  // "octlm", "transformers"
  std::filesystem::path folder;
  ModelReference model;
  std::string dtype;           // "float32"
  std::string device;          // "cpu"
  std::string attention = {};  // reference only: "eager", "sdpa"
  bool tf32 = false;           // reference only
  int threads = 0;             // reference only; 0 = as many as the environment has for it
};

struct TextRequest {
  std::string engine;  // "octlm", "transformers"
  std::filesystem::path folder;
};

template <class T>
using OrNotRun = std::variant<T, verify::NotRun>;

struct Environment : verify::Host {
  // The command that stands in for our decoder, as the user typed it; "" when nothing does. For
  // what is about our own code and calls it directly: with another subject that has nothing to
  // show.
  std::string subject_command = {};
  // The folder of a model's checkpoint, or why there is none and the command that gets it.
  std::function<OrNotRun<CheckpointFolder>(const ModelReference&)> find_checkpoint;
  // The engine under test and the reference it is held against, loaded; or why that cannot be had
  // here. Throws when it should be possible and something is broken.
  std::function<OrNotRun<std::unique_ptr<reference::Engine>>(const EngineRequest&)> open_subject;
  std::function<OrNotRun<std::unique_ptr<reference::Engine>>(const EngineRequest&)> open_reference;
  // The same for text: a tokenizer and its chat template. They need no weights.
  std::function<OrNotRun<std::unique_ptr<reference::TextEngine>>(const TextRequest&)>
      open_text_subject = {};
  std::function<OrNotRun<std::unique_ptr<reference::TextEngine>>(const TextRequest&)>
      open_text_reference = {};
};

}  // namespace octlm::experiments
