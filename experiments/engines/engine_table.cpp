#include "experiments/engines/engine_table.h"

#include <algorithm>
#include <filesystem>
#include <stdexcept>

#include "experiments/engines/local_environment.h"
#include "experiments/engines/octlm_engine.h"
#include "formats/nearest_name.h"
#include "reference/transformers/transformers.h"

namespace octlm::experiments {
namespace {

using reference::Engine;

std::optional<verify::NotRun> unsupported_by(const std::string& name,
                                             const reference::Capabilities& capabilities,
                                             const EngineRequest& request) {
  const auto lacks = [](const std::vector<std::string>& names, const std::string& wanted) {
    return std::ranges::find(names, wanted) == names.end();
  };
  const std::string what = "unsupported: " + name + " has no ";
  if (lacks(capabilities.devices, request.device))
    return verify::NotRun{what + "device " + request.device};
  if (lacks(capabilities.dtypes, request.dtype))
    return verify::NotRun{what + "dtype " + request.dtype};
  return std::nullopt;
}

OrNotRun<std::unique_ptr<Engine>> open_octlm(const EngineRequest& request, int threads) {
  if (request.device != "cpu") {
    return verify::NotRun{"this build has no " + request.device + " backend", request.device};
  }
  if (auto lacks = unsupported_by("octlm", octlm_capabilities(), request)) return *lacks;
  if (request.tf32 || (!request.attention.empty() && request.attention != "eager")) {
    throw std::invalid_argument(
        "[octlm] there is one attention here, eager, and no TF32; the spec "
        "asks for attention " +
        request.attention + (request.tf32 ? " and TF32" : ""));
  }
  return make_octlm_engine({.folder = request.folder,
                            .dtype = request.dtype,
                            .device = request.device,
                            .threads = request.threads > 0 ? request.threads : threads,
                            .instruction_set = ""});
}

bool torch_sees_cuda() {
  const auto torch = reference::python_environment(environment_python()).at("torch");
  return torch.value("cuda_available", true);  // a torch that is broken says so when it loads
}

OrNotRun<std::unique_ptr<Engine>> open_transformers(const EngineRequest& request, int threads) {
  if (auto absent = without_python()) return *absent;
  if (auto lacks = unsupported_by("transformers", reference::transformers_capabilities(), request))
    return *lacks;
  if (request.device == "cuda" && !torch_sees_cuda())
    return verify::NotRun{"torch sees no CUDA device", "cuda"};
  return reference::make_transformers(
      {.python = environment_python(),
       .folder = request.folder,
       .dtype = request.dtype,
       .device = request.device,
       .attention = request.attention.empty() ? "eager" : request.attention,
       .threads = request.threads > 0 ? request.threads : threads,
       .tf32 = request.tf32});
}

}  // namespace

EngineTable engine_table(int threads) {
  return {
      {"octlm", [=](const EngineRequest& request) { return open_octlm(request, threads); }},
      {"transformers",
       [=](const EngineRequest& request) { return open_transformers(request, threads); }},
  };
}

std::vector<std::string> engine_names() { return engine_names({}); }

std::vector<std::string> engine_names(const EngineTable& table) {
  std::vector<std::string> names;
  for (const EngineEntry& entry : table.empty() ? engine_table(1) : table) {
    names.push_back(entry.name);
  }
  return names;
}

OrNotRun<std::unique_ptr<Engine>> open_engine(const EngineTable& table,
                                              const EngineRequest& request) {
  const auto entry = std::ranges::find(table, request.engine, &EngineEntry::name);
  if (entry == table.end()) {
    throw std::invalid_argument("[engine] there is no engine \"" + request.engine +
                                "\"; the nearest is \"" +
                                formats::nearest_name(request.engine, engine_names(table)) + "\"");
  }
  auto opened = entry->open(request);
  if (const auto* engine = std::get_if<std::unique_ptr<Engine>>(&opened)) {
    if (auto lacks = unsupported_engine(**engine, request)) return *lacks;
  }
  return opened;
}

std::optional<verify::NotRun> unsupported_engine(const Engine& engine,
                                                 const EngineRequest& request) {
  return unsupported_by(engine.description().engine, engine.capabilities(), request);
}

std::optional<verify::NotRun> without_python() {
  if (std::filesystem::exists(environment_python())) return std::nullopt;
  return verify::NotRun{
      "no Python environment at " + environment_python().string() + "; ./octlm run makes it",
      "reference"};
}

}  // namespace octlm::experiments
