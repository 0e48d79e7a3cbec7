#include "reference/loader_variables.h"

#include <cstdlib>
#include <fstream>

namespace octlm::reference {
namespace {

constexpr const char* kPreloadFile = "/etc/ld.so.preload";

}  // namespace

nlohmann::json loader_variables() {
  nlohmann::json found = nlohmann::json::object();
  for (const char* name : {"LD_PRELOAD", "LD_AUDIT", "LD_LIBRARY_PATH", "PYTHONPATH",
                           "PYTHONSTARTUP", "PYTHONHOME", "PYTHONUSERBASE"}) {
    const char* value = std::getenv(name);
    if (value != nullptr && *value != '\0') found[name] = value;
  }
  std::ifstream file(kPreloadFile);
  std::string text(256, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.find_first_not_of(" \t\r\n") != std::string::npos) found[kPreloadFile] = text;
  return found;
}

std::vector<std::string> loader_reasons(const nlohmann::json& variables) {
  std::vector<std::string> reasons;
  for (const char* name : {"LD_PRELOAD", "LD_AUDIT", kPreloadFile}) {
    const auto found = variables.find(name);
    if (found == variables.end()) continue;
    reasons.push_back(std::string(name) +
                      " puts libraries before all others: " + found->get<std::string>());
  }
  return reasons;
}

}  // namespace octlm::reference
