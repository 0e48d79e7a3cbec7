// For tests: a checkpoint that Transformers itself writes, through the interpreter in this process.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

namespace octlm::reference::testing {

// The environment's interpreter that the build was configured with.
std::filesystem::path project_python();

// A fresh folder under the system's temporary one, removed with everything in it on destruction.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// tiny_checkpoint.py's write(folder, architecture, **overrides).
void write_checkpoint(const std::filesystem::path& folder, const std::string& architecture,
                      const nlohmann::json& overrides = nlohmann::json::object());

}  // namespace octlm::reference::testing
