#include "verify/resume.h"

#include <algorithm>
#include <set>
#include <stdexcept>

#include "formats/output_file.h"
#include "verify/ledger/publish.h"
#include "verify/lines.h"
#include "verify/provenance.h"
#include "verify/report/jsonl.h"

namespace octlm::verify {
namespace {

// Is this line a comparison that was finished, whatever came of it?
bool is_finished(const RunFile::Line& line) {
  if (line.type() == "comparison") return true;
  return line.type() == "not_compared" && line.json.value("needs", "") != "interrupted";
}

// Of which comparison a line is.
std::string key_of(const RunFile::Line& line) {
  std::string key;
  for (const char* field : {"experiment", "case", "path", "device", "dtype"}) {
    key += line.json.value(field, nlohmann::json()).dump() + "\n";
  }
  return key;
}

// Those that stay: what was begun, what was finished, and what comparisons that were made gave rise
// to.
std::vector<const RunFile::Line*> kept_lines(const RunFile& file) {
  std::set<std::string> compared;
  for (const RunFile::Line& line : file.lines) {
    if (line.type() == "comparison") compared.insert(key_of(line));
  }
  std::vector<const RunFile::Line*> kept;
  for (const RunFile::Line& line : file.lines) {
    const bool further = !is_framework_line(line.type()) && compared.contains(key_of(line));
    if (line.type() == "started" || is_finished(line) || further) kept.push_back(&line);
  }
  return kept;
}

void require_equal(const std::filesystem::path& folder, const std::string& what,
                   const nlohmann::json& then, const nlohmann::json& now) {
  if (then == now) return;
  throw std::invalid_argument(folder.string() + ": cannot be resumed: " + what + " was " +
                              then.dump() + " and is " + now.dump());
}

nlohmann::json processor(const nlohmann::json& environment) {
  return environment.is_object() ? environment.value(kProcessor, nlohmann::json()) : nullptr;
}

}  // namespace

// A link such as reports/latest may point elsewhere tomorrow.
Interrupted::Interrupted(const std::filesystem::path& folder)
    : file_(read_run_file(std::filesystem::weakly_canonical(folder))) {
  const nlohmann::json* summary = file_.summary();
  if (summary != nullptr && !summary->value("interrupted", false)) {
    throw std::invalid_argument(folder.string() + ": this run ended: there is nothing to resume");
  }
}

void Interrupted::require_same(const RunInfo& now) const {
  const nlohmann::json& then = run();
  require_equal(folder(), "the code's sha256", then.value("code_sha256", ""), now.code_sha256);
  const auto subject = then.find("subject_sha256");
  const bool foreign = subject != then.end() && subject->is_string();
  require_equal(folder(), "the subject's sha256", foreign ? *subject : nlohmann::json(""),
                now.subject_sha256);
  require_equal(folder(), "the processor",
                processor(then.value("environment", nlohmann::json::object())),
                processor(now.environment));
  const nlohmann::json specs = then.value("specs", nlohmann::json::object());
  for (const auto& [id, sha256] : now.specs) {
    require_equal(folder(), "the spec of " + id, specs.value(id, ""), sha256);
  }
  require_equal(folder(), "the selection", specs, now.specs);
}

void Interrupted::begin_as(RunInfo& now) const {
  now.started = run().value("started", now.started);
  now.command = run().value("command", now.command);
  now.folder = folder();
}

std::optional<ComparisonResult> Interrupted::finished(const std::string& experiment,
                                                      const ComparisonKey& key) const {
  for (const RunFile::Line& line : file_.lines) {
    if (!is_finished(line) || line.json.value("experiment", "") != experiment) continue;
    ComparisonResult result = comparison_from(line.json);
    if (!(result.key == key)) continue;
    result.kept = true;
    return result;
  }
  return std::nullopt;
}

nlohmann::json Interrupted::identity(const std::string& experiment,
                                     const std::string& device) const {
  for (const nlohmann::json* line : file_.of_type("started")) {
    Started started = started_from(*line);
    if (started.experiment == experiment && started.device == device) return started.identity;
  }
  return nlohmann::json::object();
}

void Interrupted::require_identity(const std::string& experiment, const std::string& device,
                                   const nlohmann::json& now) const {
  for (const nlohmann::json* line : file_.of_type("started")) {
    const Started started = started_from(*line);
    if (started.experiment != experiment || started.device != device) continue;
    const nlohmann::json& then = started.identity;
    if (!then.is_object() || !now.is_object()) {
      require_equal(folder(), experiment + " on " + device, then, now);
      continue;
    }
    for (const auto& [what, value] : now.items()) {
      require_equal(folder(), experiment + " on " + device + ": the " + what,
                    then.value(what, nlohmann::json()), value);
    }
  }
}

// A kill leaves the one file or the other, whole.
void Interrupted::rewrite(const RunInfo& now) const {
  nlohmann::json first = run();
  first["resumed"] = now.resumed;
  first.erase("type");
  std::string text = json_line("run", first);
  for (const RunFile::Line* line : kept_lines(file_)) text += line->text + '\n';
  formats::replace_file(folder() / "results.jsonl", text);
  // What was made from it is made again.
  for (const std::string name : kArtefacts) {
    if (name != "results.jsonl") std::filesystem::remove(folder() / name);
  }
}

}  // namespace octlm::verify
