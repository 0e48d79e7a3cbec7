// What produced a result: the code, and the machine.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace octlm::verify {

// sha256 over the sources that the build names as those a verdict depends on
// (verify/code_hash.cmake).
std::string code_sha256();

std::string version();  // the project's

struct Checkout {
  std::string commit = "unknown";
  std::optional<bool> dirty;  // absent when unknown
};
// Asks git, at run time. "unknown" when there is no git or no repository at `root`.
Checkout checkout_state(const std::filesystem::path& root);

// stdout of `git ARGUMENTS` at `root`; absent when it fails, or there is no git. Each argument
// reaches git as it is.
std::optional<std::string> git_output(const std::filesystem::path& root,
                                      const std::vector<std::string>& arguments);

// UTC, "2026-01-31T12:00:00Z"; with microseconds "2026-01-31T12:00:00.123456Z".
std::string utc_now();
std::string utc_now_precise();

// {kProcessor: {model, features}, threads, memory_bytes, os, kernel, compiler}
nlohmann::json machine_json();
inline constexpr const char* kProcessor = "cpu";  // the name that records have for it

// The command line as it would be typed: arguments quoted where the shell needs it.
std::string command_line(int argc, const char* const* argv);

}  // namespace octlm::verify
