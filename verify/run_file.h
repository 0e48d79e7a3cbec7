// A run's results.jsonl read back.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "formats/error.h"
#include "verify/result.h"

namespace octlm::verify {

struct RunFile {
  struct Line {
    std::string text;  // as it stands, without the line feed
    nlohmann::json json;
    std::string type() const { return json.value("type", ""); }
  };
  std::filesystem::path folder;
  std::vector<Line> lines;  // the first is the `run` line
  bool torn = false;        // a last line that a kill cut off was left out

  const nlohmann::json& run() const { return lines.front().json; }
  const nlohmann::json* summary() const;  // nullptr: the run did not end
  // Those of one type, in order.
  std::vector<const nlohmann::json*> of_type(const std::string& type) const;
};

// Throws formats::FormatError when there is no such file, or it is no run's.
RunFile read_run_file(const std::filesystem::path& folder);

// A metric as it stands in a line; NaN for what is none.
MetricValue metric_from(const nlohmann::json& value);

// A `comparison` or `not_compared` line as the result that it was made from.
ComparisonResult comparison_from(const nlohmann::json& line);

}  // namespace octlm::verify
