#include "verify/ledger/anchors.h"

#include <sstream>

#include "formats/json_reader.h"
#include "verify/provenance.h"
#include "verify/run_file.h"

namespace octlm::verify {
namespace {

namespace fs = std::filesystem;

void add_published(Anchors& anchors, const fs::path& folder) {
  try {
    const RunFile run = read_run_file(folder);
    for (const nlohmann::json* line : run.of_type("experiment")) {
      const auto& trust = line->value("trust", nlohmann::json::object());
      const std::string entry = trust.value("entry", "");
      if (entry.empty()) continue;
      anchors.lines[entry] = {line->value("id", ""),
                              "reports/published/" + folder.filename().string()};
    }
  } catch (const std::exception&) {
    // Names nothing, or nothing more; the audit says what is wrong with it.
  }
}

void add_tag(Anchors& anchors, const Project& project, const std::string& tag) {
  const auto text =
      git_output(project.root, {"show", "refs/tags/" + tag + ":" + project.ledger_file});
  if (!text) return;  // of a time before the ledger
  for (const auto& [experiment, chain] : parse_ledger(*text).chains) {
    for (const LedgerLine& line : chain) anchors.lines[line.sha256] = {experiment, "tag " + tag};
  }
}

}  // namespace

Anchors read_anchors(const Project& project) {
  Anchors anchors;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(project.published(), error)) {
    if (entry.is_directory()) add_published(anchors, entry.path());
  }
  const auto tags = git_output(project.root, {"tag"});
  anchors.tags_known = tags.has_value();
  std::istringstream names(tags.value_or(""));
  for (std::string tag; std::getline(names, tag);) add_tag(anchors, project, tag);
  return anchors;
}

std::optional<bool> is_anchored(const Chain& chain, const Anchors& anchors) {
  for (auto line = chain.rbegin(); line != chain.rend(); ++line) {
    if (anchors.lines.contains(line->sha256)) return true;
    if (line->entry != "publish") break;
  }
  return anchors.tags_known ? std::optional(false) : std::nullopt;
}

}  // namespace octlm::verify
