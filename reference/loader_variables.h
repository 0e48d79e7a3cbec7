// What was asked of the loaders of this process, from outside: libraries that the dynamic linker
// puts before all others can replace any function of ours and of the reference.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace octlm::reference {

// {name: value} of those that are set: LD_PRELOAD, LD_AUDIT, LD_LIBRARY_PATH, PYTHONPATH, ...; and
// what /etc/ld.so.preload holds, under that name.
nlohmann::json loader_variables();

// Why results do not count with them. A folder to search (LD_LIBRARY_PATH) is no reason, and what
// speaks to Python is none: the embedded interpreter does not listen (python.h).
std::vector<std::string> loader_reasons(const nlohmann::json& variables);

}  // namespace octlm::reference
