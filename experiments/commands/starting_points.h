// What `octlm new` begins a spec of each kind with. JSON has no comments, so what is the user's to
// write says REPLACE in its own text.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

namespace octlm::experiments {

struct StartingPoint {
  const char* title;
  // Which files of the checkpoint the spec is about: their sha256 pins it.
  bool (*is_about)(const std::string& file);
  // Writes the parts from `reference` or `subject` to `must_catch`.
  void (*fill)(nlohmann::ordered_json& spec, const std::filesystem::path& folder,
               std::int64_t vocab);
};

// By kind. Kinds without one start as a copy of a registered spec.
const std::map<std::string, StartingPoint>& starting_points();

}  // namespace octlm::experiments
