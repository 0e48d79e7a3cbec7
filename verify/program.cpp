#include "verify/program.h"

#include <algorithm>

namespace octlm::verify {

bool Program::has_device(const std::string& device) const {
  return std::ranges::find(devices, device) != devices.end();
}

std::size_t Program::device_rank(const std::string& device) const {
  return static_cast<std::size_t>(std::ranges::find(devices, device) - devices.begin());
}

std::size_t Program::dtype_rank(const std::string& dtype) const {
  std::size_t rank = 0;
  for (const Precision& precision : precisions) {
    for (const std::string& one : precision.dtypes) {
      if (one == dtype) return rank;
      ++rank;
    }
  }
  return rank;
}

std::size_t Program::path_rank(const std::string& path) const {
  const auto found = std::ranges::find_if(
      paths, [&](const std::string& one) { return path == one || path.starts_with(one + ":"); });
  return static_cast<std::size_t>(found - paths.begin());
}

Role Program::role_of(const std::string& kind) const {
  const auto found = roles.find(kind);
  return found == roles.end() ? Role::kParity : found->second;
}

}  // namespace octlm::verify
