#include "experiments/local_environment.h"

#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <stdexcept>

#include "experiments/octlm_engine.h"
#include "reference/recorded.h"
#include "reference/transformers.h"

namespace octlm::experiments {
namespace {

namespace fs = std::filesystem;
using reference::Engine;

OrNotRun<std::unique_ptr<Engine>> open_octlm(const EngineRequest& request, int threads) {
  if (request.device != "cpu") {
    return verify::NotRun{"this build has no " + request.device + " backend", request.device};
  }
  return make_octlm_engine({.folder = request.folder,
                            .dtype = request.dtype,
                            .device = request.device,
                            .threads = threads,
                            .instruction_set = ""});
}

OrNotRun<std::unique_ptr<Engine>> open_transformers(const EngineRequest& request, int threads) {
  if (!fs::exists(environment_python())) {
    return verify::NotRun{"no Python environment at " + environment_python().string() +
                              "; ./octlm run makes it",
                          "reference"};
  }
  return reference::make_transformers({.python = environment_python(),
                                       .folder = request.folder,
                                       .dtype = request.dtype,
                                       .device = request.device,
                                       .attention = request.attention,
                                       .threads = threads,
                                       .tf32 = request.tf32});
}

std::unique_ptr<Engine> open_recorded(const fs::path& folder, const EngineRequest& request) {
  reference::RecordingKey key{.weights = {}, .dtype = request.dtype, .attention = request.attention};
  for (const auto& [name, hash] : request.model.files) key.weights[name] = "sha256:" + hash;
  return reference::make_recorded(folder, key);
}

}  // namespace

Environment local_environment(const LocalOptions& options) {
  const int threads = options.threads > 0 ? options.threads : available_cpus();
  Environment environment;
  environment.find_checkpoint = [models = options.models](const ModelReference& model) {
    return find_checkpoint(model, models);
  };
  environment.open_subject = [threads](const EngineRequest& request) {
    return open_octlm(request, threads);
  };
  environment.open_reference = [threads, recorded = options.recorded](
                                   const EngineRequest& request) -> OrNotRun<std::unique_ptr<Engine>> {
    if (!recorded) return open_transformers(request, threads);
    return open_recorded(*recorded, request);
  };
  return environment;
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
