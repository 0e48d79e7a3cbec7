// A kind is what an experiment does; a spec is what is claimed. A kind reads its own part of the
// spec (strictly), plans comparisons, and measures them one at a time. It never decides: criteria
// alone do, in verify/criteria.cpp, the same way for every kind.
//
// A kind owns all of itself: how its part is read, the metrics that nobody else has, what a spec of
// it begins with, what it is to a report. Its experiments live in four steps:
//   read(spec)          -> Experiment, which holds parsed values and nothing else
//   comparisons()       the plan: keys for the record, in order
//   open(device, host)  -> Session: engines are loaded; or the reason why not
//   compare(index)      one entry of the plan
#pragma once

#include <array>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "formats/error.h"
#include "verify/metrics/error_by_position.h"
#include "verify/metrics/metric_value.h"
#include "verify/metrics/metrics.h"
#include "verify/spec.h"

namespace octlm::verify {

// What one comparison is of. Together with the experiment's id it is unique in a run.
struct ComparisonKey {
  std::string case_name;
  std::string path;    // how the case was computed; "" when the kind has one way only
  std::string device;  // where
  std::string dtype;
  friend bool operator==(const ComparisonKey&, const ComparisonKey&) = default;
};

// A further line of results.jsonl that a comparison gives rise to: a timing, a flip, ... It is
// written just before the comparison's own line, with the same experiment, case, path, device and
// dtype; `fields` do not replace those.
struct FurtherLine {
  std::string type;  // any but those of the framework: is_framework_line
  nlohmann::json fields = nlohmann::json::object();
};
// "run", "started", "comparison", "not_compared", "experiment" and "summary" are the framework's.
bool is_framework_line(std::string_view type);

// A comparison that took place. `record` holds the further fields of the `comparison` line of
// results.jsonl: subject, reference, positions, calls, worst, seconds, peak_bytes, ...
// (docs/results.md). Non-finite numbers may stand in it as they are; the reports write them as
// strings.
struct Measurement {
  MetricValues metrics;
  nlohmann::json record = nlohmann::json::object();
  std::vector<FurtherLine> lines = {};
  ErrorByPosition errors = {};  // empty when the kind compares no rows
};

// A comparison that did not take place, and why. Never a pass.
struct NotRun {
  std::string reason;  // for people, with the command that would change it
  // A device of the program, or one of its `needs` (Program), when that is absent here: a device
  // with such a comparison is `not_run`, never `pass`. "" when there was nothing to do (half of one
  // position) or the engine does not offer it: the other comparisons decide, and the report lists
  // this one as not checked.
  std::string needs = {};
};

using Outcome = std::variant<Measurement, NotRun>;

// What the program that runs experiments has for them (engines, files): opaque to the framework. An
// experiment that needs something from it derives its program's type from this one.
struct Host {
  virtual ~Host() = default;
};

inline constexpr const char* kUncountedBecause = "uncounted_because";

// An experiment on one device, with everything loaded. Its destructor frees what it holds.
class Session {
 public:
  virtual ~Session() = default;

  // What the numbers come from beside spec and code: {"checkpoint", "reference", ...}. A run is
  // resumed only when it is the same. kUncountedBecause, where it stands in it, is a list of
  // reasons in words: with any, the verdict stays and the result does not count.
  virtual nlohmann::json identity() const { return nlohmann::json::object(); }

  // Measures comparisons()[index], which is on this session's device. Throws std::exception: that
  // comparison is an `error`, the run goes on.
  virtual Outcome compare(std::size_t index) = 0;

  // Frees what can fail to be freed; called once, after the last comparison. Throws std::exception:
  // that is an `error` of the last comparison. Where nothing can fail the destructor is enough.
  virtual void close() {}
};

using Opened = std::variant<std::unique_ptr<Session>, NotRun>;

// A spec that its kind has read: parsed values, and nothing that has to be freed.
class Experiment {
 public:
  virtual ~Experiment() = default;

  // Every comparison the spec asks for, in order: the ones that cannot be made here as well.
  virtual std::vector<ComparisonKey> comparisons() const = 0;

  // Makes ready what comparisons on this device need (loads engines); or why they cannot be run,
  // with the command that would change that. Throws std::exception when something is broken: that
  // is an `error`. The session must not outlive the experiment and the host.
  virtual Opened open(const std::string& device, const Host& host) const = 0;
};

// What the comparisons of a kind are between: reports draw and count each of them in its own way.
// Every kind says one; it stands in the `experiment` line of results.jsonl (docs/results.md).
enum class Role {
  kParity,      // the subject and a reference
  kNoiseFloor,  // the reference and itself: they bound nobody's engine
  kSelf,        // the subject and itself
  kFile,        // a file and what is claimed of it
};
inline constexpr std::array kRoles = {Role::kParity, Role::kNoiseFloor, Role::kSelf, Role::kFile};
const char* role_name(Role role);                       // "parity", "noise_floor", "self", "file"
std::optional<Role> role_named(std::string_view name);  // nullopt when there is none

struct Kind {
  std::string name;     // "sums"
  std::string summary;  // one line for a list of kinds
  Role role = Role::kParity;
  // What it measures beside metric_definitions(). A criterion on a metric that is in neither list
  // is refused when the spec is read.
  std::vector<MetricDefinition> metrics = {};
  // A spec of it bounds every comparison that it plans by one of these, or is refused. Empty: it
  // claims no equality.
  std::vector<Scale> scales = {};
  // Faults that must_catch may name (design.md section 6); empty when the kind takes none.
  std::vector<std::string> faults = {};
  // Which of model, reference, subject, cases and parameters it reads. Those are required; the
  // others are refused, since nobody would read them (`"parameters": {}` is always accepted).
  std::vector<std::string> parts = {};
  // Reads the kind's part of the spec. Throws formats::FormatError.
  std::function<std::unique_ptr<Experiment>(const Spec&)> read = {};
  // Files the spec refers to (prompts), by the name it gives them: their content enters the digest.
  // Throws formats::FormatError. May be empty: there are none.
  std::function<std::map<std::string, std::filesystem::path>(const Spec&)> files = {};
  // What a new spec begins with: `title`, then everything from `model` to `must_catch`, in
  // the order of a spec. What is the author's to write starts with kToBeWritten. `subject` is what
  // the user names (a checkpoint). May be empty: there is none, one copies a spec.
  std::function<nlohmann::ordered_json(const std::string& subject)> start = {};
};

}  // namespace octlm::verify
