#include "verify/kind.h"

#include <algorithm>

namespace octlm::verify {

bool is_framework_line(std::string_view type) {
  static constexpr std::array<std::string_view, 6> kTypes = {
      "run", "started", "comparison", "not_compared", "experiment", "summary"};
  return std::ranges::find(kTypes, type) != kTypes.end();
}

const char* role_name(Role role) {
  switch (role) {
    case Role::kParity:
      return "parity";
    case Role::kNoiseFloor:
      return "noise_floor";
    case Role::kSelf:
      return "self";
    case Role::kFile:
      return "file";
  }
  return "";
}

std::optional<Role> role_named(std::string_view name) {
  for (const Role role : kRoles) {
    if (name == role_name(role)) return role;
  }
  return std::nullopt;
}

}  // namespace octlm::verify
