// A kind is what an experiment does; a spec is what is claimed. A kind reads its own part of the
// spec (strictly), plans comparisons, and measures them one at a time. It never decides: criteria
// alone do, in verify/criteria.cpp, the same way for every kind.
#pragma once

#include <array>
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

#include "verify/metrics/metric_value.h"
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

// A comparison that took place. `record` holds the further fields of the `comparison` line of
// results.jsonl: subject, reference, positions, calls, worst, seconds, peak_bytes, ...
// (docs/results.md). Non-finite numbers may stand in it as they are; the reports write them as
// strings.
struct Measurement {
  MetricValues metrics;
  nlohmann::json record = nlohmann::json::object();
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

// A spec that its kind has read.
class Experiment {
 public:
  virtual ~Experiment() = default;

  // Every comparison the spec asks for, in order: the ones that cannot be made here as well.
  virtual std::vector<ComparisonKey> comparisons() const = 0;

  // Makes ready what comparisons on this device need (loads engines). Returns why they cannot be
  // run, with the command that would change that; nullopt when ready. Throws std::exception when
  // something is broken: that is an `error`.
  virtual std::optional<NotRun> prepare(const std::string& device) = 0;

  // What the numbers come from beside spec and code, once the device is prepared: {"checkpoint",
  // "reference", ...}. A run is resumed only when it is the same.
  virtual nlohmann::json identity() const { return nlohmann::json::object(); }

  // Measures one comparison. Throws std::exception: that comparison is an `error`, the run goes on.
  virtual Outcome compare(const ComparisonKey& key) = 0;

  // Frees what prepare() loaded. Called after each device whose prepare() was called.
  virtual void release() {}
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
  // Metrics it produces, by versioned name, beside or out of metric_definitions(): a criterion on
  // any other is refused when the spec is read.
  std::vector<std::string> metrics;
  // Faults that must_catch may name (design.md section 6); empty when the kind takes none.
  std::vector<std::string> faults;
  // Which of model, reference, subject, cases and parameters it reads. Those are required; the
  // others are refused, since nobody would read them (`"parameters": {}` is always accepted).
  std::vector<std::string> parts;
  // Reads the kind's part of the spec. Throws SpecError.
  std::function<std::unique_ptr<Experiment>(const Spec&)> read;
  // Files the spec refers to (prompts), by the name it gives them: their content enters the digest.
  // May be empty: there are none.
  std::function<std::map<std::string, std::filesystem::path>(const Spec&)> files = {};
};

}  // namespace octlm::verify
