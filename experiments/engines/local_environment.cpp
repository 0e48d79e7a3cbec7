#include "experiments/engines/local_environment.h"

#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <stdexcept>

#include "experiments/engines/engine_table.h"
#include "experiments/engines/octlm_text_engine.h"
#include "reference/process/process.h"
#include "reference/recorded/recorded.h"
#include "reference/transformers/transformers_text.h"

namespace octlm::experiments {
namespace {

namespace fs = std::filesystem;
using reference::Engine;

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

OrNotRun<std::unique_ptr<Engine>> open_process(const EngineRequest& request,
                                               const LocalOptions& options) {
  auto engine = reference::make_process(
      {.command = options.subject,
       .folder = request.folder,
       .dtype = request.dtype,
       .device = request.device,
       .vocab_size = stated_size(request.folder, "vocab_size"),
       .max_positions = stated_size(request.folder, "max_position_embeddings"),
       .silence_s = options.subject_silence_s});
  if (auto lacks = unsupported_engine(*engine, request)) return *lacks;
  return engine;
}

std::unique_ptr<Engine> open_recorded(const fs::path& folder, const EngineRequest& request) {
  auto engine = reference::make_recorded(
      folder, recording_key(request.model, request.dtype, request.attention, request.tf32));
  const std::string producer = engine->description().engine;
  if (producer != request.engine) {
    throw std::runtime_error("[recorded] " + folder.string() + " was recorded by " + producer +
                             "; the spec's reference is " + request.engine);
  }
  return engine;
}

OrNotRun<std::unique_ptr<reference::TextEngine>> open_text_subject(const TextRequest& request,
                                                                   const LocalOptions& options) {
  if (!options.subject.empty()) {
    return verify::NotRun{"unsupported: this is about octlm's own tokenizer, and the subject is " +
                          joined(options.subject)};
  }
  return make_octlm_text_engine(request.folder);
}

OrNotRun<std::unique_ptr<reference::TextEngine>> open_text_reference(const TextRequest& request,
                                                                     const LocalOptions& options) {
  if (options.recorded) {
    return verify::NotRun{
        "text is compared with the live reference, not with a recording of logits", "reference"};
  }
  if (auto absent = without_python()) return *absent;
  return reference::make_transformers_text(
      {.python = environment_python(), .folder = request.folder});
}

}  // namespace

Environment local_environment(const LocalOptions& options) {
  const int threads = options.threads > 0 ? options.threads : available_cpus();
  Environment environment;
  environment.engines = options.engines.empty() ? engine_table(threads) : options.engines;
  environment.find_checkpoint = [models = options.models](const ModelReference& model) {
    return find_checkpoint(model, models);
  };
  environment.subject_command = joined(options.subject);
  environment.open_subject = [engines = environment.engines,
                              options](const EngineRequest& request) {
    return options.subject.empty() ? open_engine(engines, request) : open_process(request, options);
  };
  environment.open_reference =
      [engines = environment.engines, recorded = options.recorded](
          const EngineRequest& request) -> OrNotRun<std::unique_ptr<Engine>> {
    if (!recorded) return open_engine(engines, request);
    return open_recorded(*recorded, request);
  };
  environment.open_text_subject = [options](const TextRequest& request) {
    return open_text_subject(request, options);
  };
  environment.open_text_reference = [options](const TextRequest& request) {
    return open_text_reference(request, options);
  };
  return environment;
}

reference::RecordingKey recording_key(const ModelReference& model, const std::string& dtype,
                                      const std::string& attention, bool tf32) {
  reference::RecordingKey key{.weights = {}, .dtype = dtype, .attention = attention, .tf32 = tf32};
  for (const auto& [name, hash] : model.files) key.weights[name] = "sha256:" + hash;
  return key;
}

fs::path checkout_root() {
  const char* root = std::getenv("OCTLM_ROOT");
  return root != nullptr ? fs::path(root) : fs::path(OCTLM_SOURCE_DIR);
}

fs::path environment_python() {
  const char* python = std::getenv("OCTLM_VENV_PYTHON");
  return python != nullptr ? fs::path(python) : checkout_root() / ".venv" / "bin" / "python";
}

int available_cpus() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return std::max(1, CPU_COUNT(&set));
}

}  // namespace octlm::experiments
