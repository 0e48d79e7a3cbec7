// What a run found: the one model that every report renders (docs/results.md gives the line
// format).
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "verify/kind.h"
#include "verify/metrics/metric_value.h"
#include "verify/program.h"
#include "verify/spec.h"

namespace octlm::verify {

enum class Verdict { kPass, kFail, kNotRun, kError };
const char* verdict_name(Verdict verdict);  // "pass", "fail", "not_run", "error"

// "up to 100, pairwise, host, float32"
std::string key_text(const ComparisonKey& key);

// A comparison that broke.
struct Broken {
  std::string what;
};

struct ComparisonResult {
  ComparisonKey key;
  std::variant<Measurement, NotRun, Broken> outcome;
  bool kept = false;  // by the interrupted run that this one resumed

  const Measurement* measurement() const { return std::get_if<Measurement>(&outcome); }
  const NotRun* not_run() const { return std::get_if<NotRun>(&outcome); }
  const Broken* broken() const { return std::get_if<Broken>(&outcome); }
};

// One criterion on one device, over all comparisons that it judges there.
struct CriterionResult {
  std::string metric;
  std::string device;
  std::map<std::string, std::string> when;
  Criterion::Bound bound = Criterion::Bound::kAtMost;
  std::variant<double, bool> limit;
  std::optional<MetricValue> value;  // the worst; absent when a comparison lacks the metric
  std::optional<bool> holds;         // absent when there was no comparison to judge
  std::optional<double> used;        // value / bound, bound / value for at_least; else absent
  ComparisonKey where;               // the comparison of `value`, or the one that lacks it
  std::string derivation;            // why the bound has this value, as the spec says
  std::int64_t comparisons = 0;      // how many it judged
  // Not in the spec but always in force: a non-finite operand or metric fails.
  bool implied = false;
  bool sees_scale = false;  // as Criterion's; false in records from before it was known
  std::string note;         // why it does not hold, when the numbers alone do not say
};

struct DeviceResult {
  std::string device;
  Verdict verdict = Verdict::kNotRun;
  std::string reason;            // "" for a pass
  std::int64_t planned = 0;      // comparisons the spec asks for
  std::int64_t comparisons = 0;  // of which took place
};

// What criteria.h makes of an experiment's comparisons.
struct Judgement {
  Verdict verdict = Verdict::kNotRun;  // the worst over the devices that ran; not_run if none did
  std::string reason;                  // "" for a pass on every device
  std::vector<DeviceResult> devices;   // in the order of the plan
  std::vector<CriterionResult> criteria;
};

// What the ledger and the journal say of a result: why it may be believed, or not.
struct Trust {
  // How often this spec was run by this code, with these engines, on a device, this time included
  // (verify/ledger/journal.h).
  struct Attempts {
    std::int64_t attempt = 0;    // this is the n-th
    std::int64_t failed = 0;     // of which so many failed, this one included
    std::int64_t abandoned = 0;  // and so many never ended: a crash, or still at work
    std::string intent;          // sha256 of this attempt's line in the journal; "" without one
    std::string engines = {};    // what it is with, in words; "" when it never got ready
    // The latest before it that failed with the same of everything: "TIME, run NAME"; "" of none.
    std::string failed_before = {};
  };

  // "confirmatory", "replication", "exploratory" or "unregistered": read from the ledger alone.
  // "uncounted" in place of the first two when something speaks against the result itself.
  std::string label = "unregistered";
  std::string why;                // the label in words, when it does not count as a pass
  std::string registered_time;    // UTC; "" when unregistered, and so are the next two
  std::string registered_commit;  // HEAD when it was registered
  std::string entry;              // sha256 of the last line of its chain
  std::int64_t amendments = 0;
  std::string last_amendment;    // "narrowing", "loosening" or ""
  bool prior_results = false;    // its numbers had been seen when it was registered
  std::string prior_source;      // where, in words
  std::optional<bool> anchored;  // a published report or a tag names `entry`; absent: unknown
  std::map<std::string, Attempts> attempts;  // by device; empty without a journal
  std::string teeth = "not shown";           // would it catch a planted fault?
  // What speaks against the result beside the ledger, each in words and once.
  std::vector<std::string> uncounted_because = {};

  // Only these count as a pass of the suite.
  bool counts() const { return label == "confirmatory" || label == "replication"; }
  // Adds what a session's identity, or another record of it, names under kUncountedBecause.
  void note_reasons(const nlohmann::json& identity);
  // With a reason, a label that counts becomes one that does not.
  void settle_reasons();
};

struct ExperimentResult {
  std::string id, title, kind, spec_file, spec_sha256;
  std::string model;  // the spec's model.id; "" when it names none
  Role role = Role::kParity;
  std::vector<std::string> must_catch;  // planted faults that it claims to notice
  Trust trust;
  std::vector<ComparisonResult> comparisons;
  Judgement judgement;  // filled when the experiment is finished
  double seconds = 0;

  std::int64_t planned = 0;
  std::int64_t compared() const;  // comparisons that took place
  // It claims to notice planted faults, and nobody has shown that it does.
  bool lacks_teeth() const { return !must_catch.empty() && trust.teeth == "not shown"; }
};

struct RunInfo {
  std::string version = {}, commit = {}, code_sha256 = {};
  std::string subject_sha256 = {};  // of a subject that is not of this code; "" of our own
  std::optional<bool> dirty = {};   // absent: not a git checkout
  std::string command = {};         // the command line, to repeat it
  std::string started = {};         // UTC, "2026-01-31T12:00:00Z"
  std::map<std::string, std::string> specs = {};  // the selected ones, id -> digest
  std::optional<std::string> ledger_head = {};    // absent: this program keeps no ledger
  std::string resumed = {};  // UTC, when this run went on with an interrupted one; "" otherwise
  // What the program needs to go on with this run (its arguments); opaque to this part.
  nlohmann::json request = nullptr;
  nlohmann::json environment = nlohmann::json::object();
  std::int64_t planned = 0;           // comparisons in all
  std::filesystem::path folder = {};  // where the reports are written
  // Whose words the reports use. It is in no record: who reads one back gives its own.
  Program program = {};
};

struct Summary {
  // `pass` counts confirmatory and replication results; other passes are `uncounted`.
  std::int64_t pass = 0, fail = 0, not_run = 0, error = 0, uncounted = 0;
  int exit_code = 0;
  std::string why;  // what decided the exit code, in words
};

struct RunResult {
  RunInfo info;
  std::vector<ExperimentResult> experiments;  // finished ones
  std::vector<std::string> not_started;       // ids that an interrupted run did not reach
  int interrupted_by = 0;                     // the signal, or 0
  bool ended = true;  // false: read back from a run that was killed, or is still at work
  Summary summary;
};

}  // namespace octlm::verify
