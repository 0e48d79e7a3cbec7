#include "experiments/commands/last_failed.h"

#include <optional>
#include <stdexcept>

#include "verify/lenient_json.h"
#include "verify/run_file.h"

namespace octlm::experiments {
namespace {

namespace fs = std::filesystem;

// Of two that were started in one second, the one with the later name.
std::optional<verify::RunFile> newest_run(const fs::path& reports) {
  std::optional<verify::RunFile> newest;
  std::pair<std::string, std::string> newest_at;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(reports, error)) {
    if (entry.is_symlink() || !entry.is_directory()) continue;  // `latest` points to one of them
    try {
      verify::RunFile file = verify::read_run_file(entry.path());
      const std::pair at(verify::string_of(verify::member(file.run(), "started")),
                         entry.path().filename().string());
      if (newest && at < newest_at) continue;
      newest_at = at;
      newest = std::move(file);
    } catch (const formats::FormatError&) {
      // No run.
    }
  }
  return newest;
}

}  // namespace

LastFailed last_failed(const fs::path& reports) {
  const auto run = newest_run(reports);
  if (!run) throw std::invalid_argument("--last-failed: there is no run in " + reports.string());
  LastFailed found{run->folder, {}};
  for (const nlohmann::json* line : run->of_type("experiment")) {
    const std::string verdict = verify::string_of(verify::member(*line, "verdict"));
    if (verdict == "fail" || verdict == "error") {
      found.specs[verify::string_of(verify::member(*line, "id"))] =
          verify::string_of(verify::member(*line, "spec"));
    }
  }
  if (found.specs.empty()) {
    throw std::invalid_argument("--last-failed: nothing failed or broke in the newest run, " +
                                run->folder.string());
  }
  return found;
}

}  // namespace octlm::experiments
