#include "verify/run_file.h"

#include <cmath>

#include "formats/json_reader.h"
#include "verify/lenient_json.h"

namespace octlm::verify {

MetricValue metric_from(const nlohmann::json& value) {
  if (value.is_boolean()) return value.get<bool>();
  if (const auto integer = integer_of(value)) return *integer;
  const auto agree = integer_of(member(value, "agree"));
  const auto of = integer_of(member(value, "of"));
  if (agree && of) return Agreement{*agree, *of};
  return number_of(value).value_or(std::nan(""));
}

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

ComparisonResult comparison_from(const nlohmann::json& line) {
  const auto text = [&](const char* key) { return string_of(member(line, key)); };
  ComparisonResult result{{text("case"), text("path"), text("device"), text("dtype")}, Broken{}};
  if (text("type") == "comparison") {
    Measurement measurement;
    if (const nlohmann::json& metrics = member(line, "metrics"); metrics.is_object()) {
      for (const auto& [name, value] : metrics.items()) {
        measurement.metrics[name] = metric_from(value);
      }
    }
    measurement.record = line;
    for (const char* key : {"type", "experiment", "case", "path", "device", "dtype", "metrics"}) {
      measurement.record.erase(key);
    }
    result.outcome = std::move(measurement);
  } else if (text("verdict") == "not_run") {
    result.outcome = NotRun{text("reason"), text("needs")};
  } else {
    result.outcome = Broken{text("reason")};
  }
  return result;
}

}  // namespace octlm::verify
