// What failed or broke in the newest run of a folder of reports: `run --last-failed`.
#pragma once

#include <filesystem>
#include <map>
#include <string>

namespace octlm::experiments {

struct LastFailed {
  std::filesystem::path run;
  std::map<std::string, std::string> specs;  // id -> the spec's file, as the run recorded it
};

// Of the runs directly in `reports` the one that was started last. Throws std::invalid_argument
// when there is none, or nothing of it failed or broke.
LastFailed last_failed(const std::filesystem::path& reports);

}  // namespace octlm::experiments
