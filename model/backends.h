// Every backend, by device and dtype: the one list that the program, its errors and the engine take
// their choices from.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/ops/backend.h"

namespace octlm::model {

struct BackendOptions {
  // "cpu"
  std::string device = "cpu";
  // Of the activations; float64 is the definition, what every op means.
  DType dtype = DType::kFloat32;
  // Threads that compute, the caller among them; 0 = the CPUs this process may run on.
  int threads = 0;
  // "" = the best this CPU has; else one of cpu::instruction_sets(), to compare them.
  std::string instruction_set = {};
};

struct BackendEntry {
  std::string_view device;
  DType dtype;
  std::unique_ptr<Backend> (*make)(const BackendOptions& options);
  // Why this machine cannot run it; "" when it can.
  std::string (*why_not)();
};

std::span<const BackendEntry> backends();

// The row of a device and a dtype's name. Throws std::invalid_argument that lists what there is.
const BackendEntry& find_backend(std::string_view device, std::string_view dtype);

// Throws as find_backend does, and std::runtime_error when this machine cannot run it.
std::unique_ptr<Backend> make_backend(const BackendOptions& options);

// What this machine can run, in the list's order: devices, and dtypes of a device.
std::vector<std::string> backend_devices();
std::vector<std::string> backend_dtypes(std::string_view device);

}  // namespace octlm::model
