#include "verify/run_file.h"

#include "formats/json_reader.h"

namespace octlm::verify {

const nlohmann::json* RunFile::summary() const {
  return lines.back().type() == "summary" ? &lines.back().json : nullptr;
}

std::vector<const nlohmann::json*> RunFile::of_type(const std::string& type) const {
  std::vector<const nlohmann::json*> found;
  for (const Line& line : lines) {
    if (line.type() == type) found.push_back(&line.json);
  }
  return found;
}

RunFile read_run_file(const std::filesystem::path& folder) {
  const std::filesystem::path file = folder / "results.jsonl";
  const std::string text = formats::read_file(file);
  RunFile run{.folder = folder, .lines = {}, .torn = false};
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    if (end == std::string::npos) {
      run.torn = true;
      break;
    }
    std::string one = text.substr(at, end - at);
    at = end + 1;
    auto json = formats::parse_or_discard(one);
    if (!json.is_object() || !json.contains("type") || !json["type"].is_string()) {
      throw formats::FormatError(file.string() + ": line " + std::to_string(run.lines.size() + 1) +
                                 " is no line of a run");
    }
    run.lines.push_back({std::move(one), std::move(json)});
  }
  if (run.lines.empty() || run.lines.front().type() != "run") {
    throw formats::FormatError(file.string() + ": does not begin with a run line");
  }
  return run;
}

}  // namespace octlm::verify
