// For tests: a checkpoint that Transformers itself writes, through the interpreter in this process.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

namespace octlm::reference::testing {

// The environment's interpreter that the build was configured with.
std::filesystem::path project_python();

// tiny_checkpoint.py's write(folder, architecture, **overrides).
void write_checkpoint(const std::filesystem::path& folder, const std::string& architecture,
                      const nlohmann::json& overrides = nlohmann::json::object());

}  // namespace octlm::reference::testing
