#include "verify/ledger/history.h"

#include <set>
#include <string_view>

#include "formats/json_reader.h"
#include "formats/sha256.h"
#include "verify/provenance.h"

namespace octlm::verify {
namespace {

// The lines that commits added to the file, each with all its bytes; several times where branches met.
std::set<std::string> committed_lines(const Project& project) {
  std::set<std::string> lines;
  const auto patches = git_output(
      project.root, {"log", "-p", "-m", "-U0", "--format=", "--no-color", "--no-ext-diff",
                     "--no-textconv", "--no-renames", "--", project.ledger_file});
  std::string_view text = patches ? std::string_view(*patches) : std::string_view();
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    if (line.starts_with("+{")) lines.emplace(line.substr(1));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return lines;
}

std::string experiment_of(const std::string& line) {
  const auto json = formats::parse_or_discard(line);
  const auto id = json.is_object() ? json.find("experiment") : json.end();
  return json.is_object() && id != json.end() && id->is_string() ? id->get<std::string>()
                                                                 : "a line";
}

}  // namespace

std::vector<std::string> lost_lines(const Project& project, const Ledger& ledger,
                                    const Anchors& anchors) {
  std::set<std::string> present;
  for (const auto& [experiment, chain] : ledger.chains) {
    for (const LedgerLine& line : chain) present.insert(line.sha256);
  }
  std::vector<std::string> lost;
  for (const std::string& line : committed_lines(project)) {
    if (present.contains(formats::sha256(line))) continue;
    lost.push_back(
        experiment_of(line) +
        ": a line that was committed to the ledger was edited or removed; git log -p -- " +
        project.ledger_file + " has it");
  }
  for (const auto& [sha256, anchor] : anchors.lines) {
    if (present.contains(sha256)) continue;
    lost.push_back(anchor.experiment + ": " + anchor.by +
                   " names a line of the ledger that is not there: it was edited or removed");
  }
  return lost;
}

void require_whole(const Project& project, Ledger ledger, const Anchors& anchors) {
  for (std::string& lost : lost_lines(project, ledger, anchors))
    ledger.problems.push_back(std::move(lost));
  require_valid(ledger, project.ledger().string());
}

}  // namespace octlm::verify
