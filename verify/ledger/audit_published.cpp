// The published reports against the ledger.
#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "formats/json_reader.h"
#include "formats/sha256.h"
#include "verify/ledger/audit.h"
#include "verify/ledger/journal.h"
#include "verify/ledger/standing.h"
#include "verify/run_file.h"

namespace octlm::verify {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using Lines = std::vector<const LedgerLine*>;

class ReportAudit {
 public:
  ReportAudit(const fs::path& folder, const Lines& lines, const Ledger& ledger,
              std::vector<Finding>& findings)
      : folder_(folder), lines_(lines), ledger_(ledger), findings_(findings) {}

  void run() {
    if (lines_.empty()) return problem("no line of the ledger names this report");
    const Json& artefacts = lines_.front()->fields["artefacts"];
    for (const LedgerLine* line : lines_) {
      if (line->fields["artefacts"] != artefacts) problem(line->text() + " names other digests");
    }
    check_files(artefacts);
    try {
      check_results(read_run_file(folder_));
    } catch (const formats::FormatError& error) {
      problem(error.what());
    } catch (const Json::exception& error) {
      problem(std::string("results.jsonl is not as a run writes it: ") + error.what());
    }
  }

 private:
  void problem(const std::string& what) {
    findings_.push_back({true, "reports/published/" + folder_.filename().string(), what});
  }

  void check_files(const Json& artefacts) {
    for (const auto& [name, digest] : artefacts.items()) {
      const fs::path file = folder_ / fs::path(name).filename();
      if (!fs::is_regular_file(fs::symlink_status(file))) {
        problem(name + " is gone");
      } else if (formats::sha256_file(file) != digest) {
        problem(name + " was edited: its sha256 is not that of the ledger");
      }
    }
    for (const auto& entry : fs::directory_iterator(folder_)) {
      const std::string name = entry.path().filename().string();
      if (!artefacts.contains(name)) problem(name + " was added: the ledger does not name it");
    }
  }

  const LedgerLine* line_of(const std::string& experiment) const {
    for (const LedgerLine* line : lines_) {
      if (line->experiment == experiment) return line;
    }
    return nullptr;
  }

  void check_results(const RunFile& run) {
    std::set<std::string> seen;
    for (const Json* experiment : run.of_type("experiment")) {
      const std::string id = experiment->at("id");
      seen.insert(id);
      const LedgerLine* line = line_of(id);
      if (line == nullptr) {
        problem(id + " is in the report, and no line of the ledger publishes it");
      } else {
        check_experiment(*experiment, *line, run.run());
      }
    }
    for (const LedgerLine* line : lines_) {
      if (!seen.contains(line->experiment)) problem(line->text() + " has no result in the report");
    }
  }

  void check_experiment(const Json& experiment, const LedgerLine& line, const Json& run) {
    const std::string& id = line.experiment;
    for (const char* key : {"verdict", "devices", "label", "spec_sha256"}) {
      if (experiment.at(key) != line.fields[key]) {
        problem(id + ": its " + key + " is not that of the ledger");
      }
    }
    const auto then = chain_until(ledger_.chain(id), experiment.at("trust").at("entry"));
    if (then.empty()) return;  // audit_anchors says so
    if (recorded_label(then, experiment) != experiment.at("label")) {
      problem(id + ": its label is not what the ledger said then");
    }
    if (run.at("started") < then.back().time) {
      problem(id + ": was run before " + then.back().text() + ", on which it rests");
    }
    check_attempts(id, experiment);
  }

  void check_attempts(const std::string& id, const Json& experiment) {
    const Json& attempts = experiment.at("trust").at("attempts");
    for (const auto& [device, verdict] : experiment.at("devices").items()) {
      if (verdict == "not_run") continue;
      if (!attempts.contains(device) || attempts.at(device).at("intent") == "") {
        problem(id + " on " + device + ": a result without intent");
      } else if (verdict == "pass" && attempts.at(device).at("failed") > 0) {
        problem(id + " on " + device + ": a pass after a fail with equal code");
      }
    }
  }

  const fs::path& folder_;
  const Lines& lines_;
  const Ledger& ledger_;
  std::vector<Finding>& findings_;
};

// What a publication says of a device: what was tried, and which run it was.
struct Published {
  AttemptKey key;
  std::string run;
};

Published published_on(const LedgerLine& line, const std::string& device) {
  const auto engines = line.fields.find("engines");
  return {.key = {line.fields["spec_sha256"], line.fields["code_sha256"], device,
                  engines == line.fields.end() ? "" : engines->value(device, "")},
          .run = line.fields["run"]};
}

// A pass that was published after a fail of the same spec, code and engines on the device.
void check_repeats(const Chain& chain, std::vector<Finding>& findings) {
  std::vector<Published> failed;
  for (const LedgerLine& line : chain) {
    if (line.entry != "publish") continue;
    for (const auto& [device, verdict] : line.fields["devices"].items()) {
      Published published = published_on(line, device);
      const auto before = std::ranges::find_if(
          failed, [&](const Published& one) { return same_thing(one.key, published.key); });
      if (verdict == "fail") {
        failed.push_back(std::move(published));
      } else if (verdict == "pass" && before != failed.end()) {
        findings.push_back({true, line.experiment,
                            line.text() + " publishes a pass on " + device + " after a fail in " +
                                before->run + " with equal code: that is no pass"});
      }
    }
  }
}

}  // namespace

void audit_published(const Project& project, const Ledger& ledger, std::vector<Finding>& findings) {
  std::map<std::string, Lines> runs;
  for (const auto& [experiment, chain] : ledger.chains) {
    for (const LedgerLine& line : chain) {
      if (line.entry == "publish") runs[line.fields["run"]].push_back(&line);
    }
    check_repeats(chain, findings);
  }
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(project.published(), error)) {
    if (entry.is_directory()) runs.try_emplace(entry.path().filename().string());
  }
  for (const auto& [run, lines] : runs) {
    const fs::path folder = project.published() / fs::path(run).filename();
    if (!fs::is_directory(folder)) {
      findings.push_back({true, "reports/published/" + run, "is gone, and the ledger names it"});
    } else {
      ReportAudit(folder, lines, ledger, findings).run();
    }
  }
}

}  // namespace octlm::verify
