// Each describe() names the fields of a line once, in no order that matters: the file has them
// sorted by name. LineWriter and LineReader are the two things that can be done with a description.
#include "verify/lines.h"

#include <algorithm>
#include <cmath>
#include <concepts>

#include "verify/lenient_json.h"

namespace octlm::verify {
namespace {

using Json = nlohmann::json;

class LineWriter {
 public:
  explicit LineWriter(Json begun = Json::object()) : json(std::move(begun)) {}

  template <class T>
  void operator()(const char* name, const T& value) {
    json[name] = made(value);
  }
  void or_null(const char* name, const std::string& text) {
    json[name] = text.empty() ? Json(nullptr) : Json(text);
  }
  template <class T>
  void unless_empty(const char* name, const T& value) {
    if (!value.empty()) json[name] = made(value);
  }
  void unless_false(const char* name, bool value) {
    if (value) json[name] = true;
  }
  // What follows from the rest, and is not read.
  template <class T>
  void computed(const char* name, const T& value) {
    json[name] = made(value);
  }
  template <class Fields>
  void object(const char* name, const Fields& fields) {
    LineWriter inner;
    fields(inner);
    json[name] = std::move(inner.json);
  }

  Json json;

 private:
  static Json made(const std::string& value) { return value; }
  static Json made(const Json& value) { return value; }
  static Json made(bool value) { return value; }
  static Json made(int value) { return value; }
  static Json made(std::int64_t value) { return value; }
  static Json made(double value) { return number_json(value); }
  static Json made(Verdict value) { return verdict_name(value); }
  static Json made(Role value) { return role_name(value); }
  static Json made(const MetricValue& value) { return metric_json(value); }
  template <class A, class B>
  static Json made(const std::pair<A, B>& value) {
    return Json::array({made(value.first), made(value.second)});
  }
  template <class T>
  static Json made(const std::optional<T>& value) {
    return value ? made(*value) : Json(nullptr);
  }
  template <class T>
  static Json made(const std::vector<T>& values) {
    Json list = Json::array();
    for (const T& value : values) list.push_back(made(value));
    return list;
  }
  template <class T>
  static Json made(const std::map<std::string, T>& values) {
    Json by_name = Json::object();
    for (const auto& [name, value] : values) by_name[name] = made(value);
    return by_name;
  }
  template <class T>
  static Json made(const T& value) {
    LineWriter inner;
    describe(inner, value);
    return std::move(inner.json);
  }
};

class LineReader {
 public:
  explicit LineReader(const Json& line) : json(line) {}

  template <class T>
  void operator()(const char* name, T& value) {
    names.push_back(name);
    take(member(json, name), value);
  }
  void or_null(const char* name, std::string& text) { (*this)(name, text); }
  template <class T>
  void unless_empty(const char* name, T& value) {
    (*this)(name, value);
  }
  void unless_false(const char* name, bool& value) { (*this)(name, value); }
  template <class T>
  void computed(const char* name, const T&) {
    names.push_back(name);
  }
  template <class Fields>
  void object(const char* name, const Fields& fields) {
    names.push_back(name);
    LineReader inner(member(json, name));
    fields(inner);
  }

  const Json& json;
  std::vector<std::string> names;  // of the fields met so far

 private:
  // An empty text is as good as none: what stands there by default stays.
  static void take(const Json& from, std::string& to) {
    if (std::string text = string_of(from); !text.empty()) to = std::move(text);
  }
  static void take(const Json& from, Json& to) { to = from; }
  static void take(const Json& from, bool& to) { to = bool_of(from).value_or(to); }
  static void take(const Json& from, int& to) {  // an exit code
    to = static_cast<int>(std::clamp<std::int64_t>(integer_of(from).value_or(to), 0, 255));
  }
  static void take(const Json& from, std::int64_t& to) { to = integer_of(from).value_or(to); }
  static void take(const Json& from, double& to) { to = number_of(from).value_or(to); }
  // An unknown word is no pass.
  static void take(const Json& from, Verdict& to) {
    const std::string word = string_of(from);
    to = Verdict::kError;
    for (const Verdict one : {Verdict::kPass, Verdict::kFail, Verdict::kNotRun}) {
      if (word == verdict_name(one)) to = one;
    }
  }
  static void take(const Json& from, Role& to) { to = role_named(string_of(from)).value_or(to); }
  // NaN for what is no metric.
  static void take(const Json& from, MetricValue& to) {
    const auto agree = integer_of(member(from, "agree")), of = integer_of(member(from, "of"));
    if (from.is_boolean()) {
      to = from.get<bool>();
    } else if (const auto integer = integer_of(from)) {
      to = *integer;
    } else if (agree && of) {
      to = Agreement{*agree, *of};
    } else {
      to = number_of(from).value_or(std::nan(""));
    }
  }
  static void take(const Json& from, std::optional<std::string>& to) {
    if (from.is_string()) to = string_of(from);
  }
  static void take(const Json& from, std::optional<bool>& to) { to = bool_of(from); }
  static void take(const Json& from, std::optional<std::int64_t>& to) { to = integer_of(from); }
  static void take(const Json& from, std::optional<double>& to) { to = number_of(from); }
  static void take(const Json& from, std::optional<MetricValue>& to) {
    if (!from.is_null()) take(from, to.emplace());
  }
  template <class A, class B>
  static void take(const Json& from, std::pair<A, B>& to) {
    if (!from.is_array() || from.size() != 2) return;
    take(from[0], to.first);
    take(from[1], to.second);
  }
  template <class T>
  static void take(const Json& from, std::vector<T>& to) {
    if (!from.is_array()) return;
    for (const Json& one : from) take(one, to.emplace_back());
  }
  template <class T>
  static void take(const Json& from, std::map<std::string, T>& to) {
    if (!from.is_object()) return;
    for (const auto& [name, one] : from.items()) take(one, to[name]);
  }
  template <class T>
  static void take(const Json& from, T& to) {
    LineReader inner(from);
    describe(inner, to);
  }
};

// To write it is const, to read it is not.
template <class T, class Type>
concept Is = std::same_as<std::remove_const_t<T>, Type>;

template <class Fields, Is<RunInfo> Info>
void describe(Fields& field, Info& info) {
  field.computed("schema", 1);
  field("version", info.version);
  field("commit", info.commit);
  field("dirty", info.dirty);
  field("code_sha256", info.code_sha256);
  field.or_null("subject_sha256", info.subject_sha256);
  field("command", info.command);
  field("started", info.started);
  field("ledger_head", info.ledger_head);
  field("specs", info.specs);
  field.or_null("resumed", info.resumed);
  field("request", info.request);
  field("environment", info.environment);
  field("planned", info.planned);
}

template <class Fields, Is<Started> Of>
void describe(Fields& field, Of& started) {
  field("experiment", started.experiment);
  field("device", started.device);
  field("spec_sha256", started.spec_sha256);
  field("intent", started.intent);
  field("identity", started.identity);
}

template <class Fields, class Id, class Key>
void describe_key(Fields& field, Id& experiment, Key& key) {
  field("experiment", experiment);
  field("case", key.case_name);
  field("path", key.path);
  field("device", key.device);
  field("dtype", key.dtype);
}

template <class Fields, Is<ErrorByPosition> Of>
void describe(Fields& field, Of& errors) {
  field("positions", errors.rows);
  field("last", errors.last);
  field("first", errors.first);
  field("max_abs_error", errors.max_abs_error);
  field.unless_empty("lone_column", errors.lone_column);
  field("powers_of_two", errors.powers_of_two);
  field("equal", errors.equal);
  field("not_finite", errors.not_finite);
}

// What the framework itself writes of a comparison; the rest of its line is the kind's.
template <class Fields, Is<Measurement> Of>
void describe_measured(Fields& field, Of& measured) {
  field("metrics", measured.metrics);
  field.unless_empty("error_by_position", measured.errors);
}

// What stands in a `not_compared` line beside the key.
struct Absent {
  Verdict verdict = Verdict::kNotRun;
  std::string reason, needs;
};

template <class Fields, Is<Absent> Of>
void describe(Fields& field, Of& absent) {
  field("verdict", absent.verdict);
  field("reason", absent.reason);
  field("needs", absent.needs);
}

// The bound stands under its own name; a rule that is in force without being written has none.
void describe_bound(LineWriter& field, const CriterionResult& criterion) {
  if (criterion.implied) return;
  const bool* truth = std::get_if<bool>(&criterion.limit);
  const char* name = bound_name(criterion.bound);
  truth ? field(name, *truth) : field(name, std::get<double>(criterion.limit));
}
void describe_bound(LineReader& field, CriterionResult& criterion) {
  using Bound = Criterion::Bound;
  for (const Bound bound : {Bound::kAtMost, Bound::kAtLeast, Bound::kEquals}) {
    const Json& limit = member(field.json, bound_name(bound));
    if (limit.is_null()) continue;
    criterion.bound = bound;
    if (const auto truth = bool_of(limit)) criterion.limit = *truth;
    if (const auto number = number_of(limit)) criterion.limit = *number;
    return;
  }
  criterion.bound = Bound::kEquals;
  criterion.limit = true;
}

// A place is on the criterion's device; where nothing was judged there is none.
void place_on_device(LineWriter&, const CriterionResult&) {}
void place_on_device(LineReader&, CriterionResult& criterion) {
  if (!key_text(criterion.where).empty()) criterion.where.device = criterion.device;
}

template <class Fields, Is<CriterionResult> Of>
void describe(Fields& field, Of& criterion) {
  field("metric", criterion.metric);
  field("device", criterion.device);
  describe_bound(field, criterion);
  field("value", criterion.value);
  field("holds", criterion.holds);
  field("used", criterion.used);
  field("comparisons", criterion.comparisons);
  field.object("where", [&](auto& inner) {
    inner("case", criterion.where.case_name);
    inner("path", criterion.where.path);
    inner("dtype", criterion.where.dtype);
  });
  place_on_device(field, criterion);
  field("implied", criterion.implied);
  field.unless_false("sees_scale", criterion.sees_scale);
  field.unless_empty("when", criterion.when);
  field.unless_empty("derivation", criterion.derivation);
  field.unless_empty("note", criterion.note);
}

template <class Fields, Is<Trust::Attempts> Of>
void describe(Fields& field, Of& attempts) {
  field("attempt", attempts.attempt);
  field("failed", attempts.failed);
  field("abandoned", attempts.abandoned);
  field("intent", attempts.intent);
  field.unless_empty("engines", attempts.engines);
  field.unless_empty("failed_before", attempts.failed_before);
}

void null_when_unregistered(LineWriter& field, const Trust& trust) {
  if (trust.registered_time.empty()) field.json["registered"] = nullptr;
}
void null_when_unregistered(LineReader&, Trust&) {}

template <class Fields, Is<Trust> Of>
void describe(Fields& field, Of& trust) {
  field("why", trust.why);
  field.object("registered", [&](auto& inner) {
    inner("time", trust.registered_time);
    inner("commit", trust.registered_commit);
  });
  null_when_unregistered(field, trust);
  field("entry", trust.entry);
  field("amendments", trust.amendments);
  field("last_amendment", trust.last_amendment);
  field.object("prior_results", [&](auto& inner) {
    inner("exist", trust.prior_results);
    inner("source", trust.prior_source);
  });
  field("anchored", trust.anchored);
  field("attempts", trust.attempts);
  field("teeth", trust.teeth);
  field.unless_empty(kUncountedBecause, trust.uncounted_because);
}

// The highest over the devices; absent without a journal.
std::optional<std::int64_t> attempt_of(const Trust& trust) {
  std::optional<std::int64_t> highest;
  for (const auto& [device, of] : trust.attempts) highest = std::max(highest, {of.attempt});
  return highest;
}

// By device, as two fields: the verdict, and the reason where there is one.
void describe_devices(LineWriter& field, const Judgement& judgement) {
  std::map<std::string, Verdict> verdicts;
  std::map<std::string, std::string> reasons;
  for (const DeviceResult& device : judgement.devices) {
    verdicts[device.device] = device.verdict;
    if (!device.reason.empty()) reasons[device.device] = device.reason;
  }
  field("devices", verdicts);
  field("reasons", reasons);
}
void describe_devices(LineReader& field, Judgement& judgement) {
  std::map<std::string, Verdict> verdicts;
  std::map<std::string, std::string> reasons;
  field("devices", verdicts);
  field("reasons", reasons);
  for (const auto& [name, verdict] : verdicts) {
    DeviceResult& device = device_of(judgement, name);
    device.verdict = verdict;
    if (reasons.contains(name)) device.reason = reasons[name];
  }
}

template <class Fields, Is<ExperimentResult> Of>
void describe(Fields& field, Of& experiment) {
  field("id", experiment.id);
  field("kind", experiment.kind);
  field("role", experiment.role);
  field("title", experiment.title);
  field("model", experiment.model);
  field("verdict", experiment.judgement.verdict);
  describe_devices(field, experiment.judgement);
  field("reason", experiment.judgement.reason);
  field("label", experiment.trust.label);
  field.computed("comparisons", experiment.compared());
  field("planned", experiment.planned);
  field("criteria", experiment.judgement.criteria);
  field.unless_empty("must_catch", experiment.must_catch);
  field("spec", experiment.spec_file);
  field("spec_sha256", experiment.spec_sha256);
  field.computed("attempt", attempt_of(experiment.trust));
  field("trust", experiment.trust);
  field("seconds", experiment.seconds);
}

// Which signal it was follows from the exit code.
void describe_interrupt(LineWriter& field, const RunResult& run) {
  field("interrupted", run.interrupted_by != 0);
}
void describe_interrupt(LineReader& field, RunResult& run) {
  bool interrupted = false;
  field("interrupted", interrupted);
  if (interrupted) run.interrupted_by = std::max(1, run.summary.exit_code - 128);
}

template <class Fields, Is<RunResult> Of>
void describe(Fields& field, Of& run) {
  field("pass", run.summary.pass);
  field("fail", run.summary.fail);
  field("not_run", run.summary.not_run);
  field("error", run.summary.error);
  field("uncounted", run.summary.uncounted);
  field("exit_code", run.summary.exit_code);
  field("why", run.summary.why);
  field("not_started", run.not_started);
  describe_interrupt(field, run);
}

template <class T>
Json written(const T& value) {
  LineWriter writer;
  describe(writer, value);
  return std::move(writer.json);
}

template <class T>
T read(const Json& line) {
  T value;
  LineReader reader(line);
  describe(reader, value);
  return value;
}

// A series that a run could have written: what else stands there is taken as absent.
bool fits_together(const ErrorByPosition& errors) {
  const std::size_t bins = errors.first.size();
  return bins <= ErrorByPosition::kBins && errors.max_abs_error.size() == bins &&
         (errors.lone_column.empty() || errors.lone_column.size() == bins) &&
         std::ranges::is_sorted(errors.first) &&
         (bins == 0 || (errors.first.front() >= 0 && errors.last >= errors.first.back()));
}

Absent absent_of(const ComparisonResult& result) {
  if (const NotRun* not_run = result.not_run()) {
    return {Verdict::kNotRun, not_run->reason, not_run->needs};
  }
  return {Verdict::kError, result.broken()->what, ""};
}

}  // namespace

Json run_line(const RunInfo& info) { return written(info); }
Json started_line(const Started& started) { return written(started); }
Json experiment_line(const ExperimentResult& experiment) { return written(experiment); }
Json summary_line(const RunResult& run) { return written(run); }

RunInfo run_from(const Json& line) { return read<RunInfo>(line); }
Started started_from(const Json& line) { return read<Started>(line); }

Json key_json(const ExperimentResult& experiment, const ComparisonKey& key) {
  LineWriter writer;
  describe_key(writer, experiment.id, key);
  return std::move(writer.json);
}

Json comparison_line(const ExperimentResult& experiment, const ComparisonResult& result) {
  LineWriter writer{key_json(experiment, result.key)};
  const Measurement* measured = result.measurement();
  if (!measured) {
    const Absent absent = absent_of(result);
    describe(writer, absent);
    return std::move(writer.json);
  }
  describe_measured(writer, *measured);
  // The kind's fields do not replace ours.
  for (const auto& [name, value] : measured->record.items()) {
    if (!writer.json.contains(name)) writer.json[name] = value;
  }
  return std::move(writer.json);
}

ComparisonResult comparison_from(const Json& line) {
  ComparisonResult result{{}, Broken{}};
  std::string experiment;
  LineReader reader(line);
  describe_key(reader, experiment, result.key);
  if (string_of(member(line, "type")) == "comparison") {
    Measurement measurement;
    describe_measured(reader, measurement);
    if (!fits_together(measurement.errors)) measurement.errors = {};
    measurement.record = line;
    measurement.record.erase("type");
    for (const std::string& name : reader.names) measurement.record.erase(name);
    result.outcome = std::move(measurement);
    return result;
  }
  Absent absent;
  describe(reader, absent);
  if (absent.verdict == Verdict::kNotRun) {
    result.outcome = NotRun{absent.reason, absent.needs};
  } else {
    result.outcome = Broken{absent.reason};
  }
  return result;
}

void take_experiment(const Json& line, ExperimentResult& experiment) {
  LineReader reader(line);
  describe(reader, experiment);
}

void take_summary(const Json& line, RunResult& run) {
  run.summary.exit_code = 4;  // of a line that does not say
  LineReader reader(line);
  describe(reader, run);
}

DeviceResult& device_of(Judgement& judgement, const std::string& name) {
  for (DeviceResult& device : judgement.devices) {
    if (device.device == name) return device;
  }
  judgement.devices.push_back({.device = name, .verdict = Verdict::kNotRun, .reason = ""});
  return judgement.devices.back();
}

}  // namespace octlm::verify
