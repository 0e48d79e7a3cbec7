#include "model/backends.h"

#include <algorithm>
#include <stdexcept>

#include "model/cpu/backend.h"

namespace octlm::model {
namespace {

std::string always() { return ""; }

constexpr BackendEntry kBackends[] = {
    {"cpu", DType::kFloat32,
     [](const BackendOptions& o) {
       return cpu::make_backend({o.threads, o.instruction_set});
     },
     always},
    {"cpu", DType::kFloat64,
     [](const BackendOptions& o) {
       return cpu::make_definition({o.threads, o.instruction_set});
     },
     always},
};

void add_once(std::vector<std::string>& names, std::string_view name) {
  if (std::ranges::find(names, name) == names.end()) names.emplace_back(name);
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

[[noreturn]] void refuse(const std::string& what, std::string_view name,
                         const std::vector<std::string>& choices) {
  throw std::invalid_argument(what + " '" + std::string(name) +
                              "' is not in this build; it has: " + joined(choices));
}

}  // namespace

std::span<const BackendEntry> backends() { return kBackends; }

std::vector<std::string> backend_devices() {
  std::vector<std::string> devices;
  for (const BackendEntry& entry : kBackends) {
    if (entry.why_not().empty()) add_once(devices, entry.device);
  }
  return devices;
}

std::vector<std::string> backend_dtypes(std::string_view device) {
  std::vector<std::string> dtypes;
  for (const BackendEntry& entry : kBackends) {
    if (entry.device == device && entry.why_not().empty()) {
      add_once(dtypes, dtype_name(entry.dtype));
    }
  }
  return dtypes;
}

const BackendEntry& find_backend(std::string_view device, std::string_view dtype) {
  bool known_device = false;
  for (const BackendEntry& entry : kBackends) {
    if (entry.device != device) continue;
    known_device = true;
    if (dtype_name(entry.dtype) == dtype) return entry;
  }
  if (!known_device) refuse("device", device, backend_devices());
  refuse("dtype", dtype, backend_dtypes(device));
}

std::unique_ptr<Backend> make_backend(const BackendOptions& options) {
  const BackendEntry& entry = find_backend(options.device, dtype_name(options.dtype));
  if (const std::string why = entry.why_not(); !why.empty()) {
    throw std::runtime_error("device '" + options.device + "' cannot be used here: " + why);
  }
  return entry.make(options);
}

}  // namespace octlm::model
