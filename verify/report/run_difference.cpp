#include "verify/report/run_difference.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "verify/lenient_json.h"
#include "verify/provenance.h"
#include "verify/report/facts.h"
#include "verify/report/text.h"

namespace octlm::verify {
namespace {

using Weight = RunChange::Weight;

// A device's verdict as the suite counts it, best first.
struct Grade {
  int badness = 0;
  std::string word;
};

Grade grade(const RunResult& run, const ExperimentResult& experiment, const DeviceResult& device) {
  switch (device.verdict) {
    case Verdict::kPass:
      if (counts(run, experiment)) return {0, "pass"};
      return {1, "pass that does not count (" + experiment.trust.label + ")"};
    case Verdict::kNotRun:
      return {2, "not run"};
    case Verdict::kError:
      return {3, "error"};
    case Verdict::kFail:
      return {4, "fail"};
  }
  return {4, ""};
}

Weight weight_of(int before, int after) {
  return after > before ? Weight::kWorse : after < before ? Weight::kBetter : Weight::kOther;
}

std::string short_hash(const std::string& hash) {
  return hash.empty() ? "none" : hash.substr(0, 12);
}

const ExperimentResult* find(const RunResult& run, const std::string& id) {
  const auto found = std::ranges::find(run.experiments, id, &ExperimentResult::id);
  return found == run.experiments.end() ? nullptr : &*found;
}

const DeviceResult* find(const ExperimentResult& experiment, const std::string& device) {
  const auto found = std::ranges::find(experiment.judgement.devices, device, &DeviceResult::device);
  return found == experiment.judgement.devices.end() ? nullptr : &*found;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text.empty() ? "none" : text;
}

// The engines and versions on one side of an experiment's comparisons on a device.
std::string versions(const ExperimentResult& experiment, const std::string& device,
                     const char* which) {
  std::vector<std::string> names;
  for (const ComparisonResult& comparison : experiment.comparisons) {
    const Side side = side_of(comparison, which);
    if (!side.known() || comparison.key.device != device) continue;
    std::string name = side.engine + " " + side.version + " " + side.source;
    if (std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
  }
  return joined(names);
}

// The engines under test on a device; none where nothing was measured.
std::set<std::string> engines(const ExperimentResult& experiment, const std::string& device) {
  std::set<std::string> names;
  for (const ComparisonResult& comparison : experiment.comparisons) {
    const Side side = side_of(comparison, "subject");
    if (side.known() && comparison.key.device == device) names.insert(side.engine);
  }
  return names;
}

// The device of a run that did something there; nullptr when it did not.
const DeviceResult* ran_on(const ExperimentResult* experiment, const std::string& device) {
  const DeviceResult* found = experiment ? find(*experiment, device) : nullptr;
  const bool ran = found && (found->verdict != Verdict::kNotRun || found->comparisons > 0);
  return ran ? found : nullptr;
}

// What stands in one list and not in the other: "in: a, b; out: c; first at 3".
std::string list_difference(const std::vector<std::string>& then,
                            const std::vector<std::string>& now) {
  constexpr std::size_t kShown = 8;
  const auto lacking = [&](const std::vector<std::string>& from,
                           const std::vector<std::string>& in) {
    std::vector<std::string> left;
    for (const std::string& one : from) {
      if (std::ranges::find(in, one) == in.end()) left.push_back(one);
    }
    const std::size_t more = left.size() > kShown ? left.size() - kShown : 0;
    left.resize(left.size() - more);
    return left.empty() ? ""
                        : joined(left) + (more ? " and " + std::to_string(more) + " more" : "");
  };
  std::string text;
  const std::string in = lacking(now, then), out = lacking(then, now);
  if (!in.empty()) text += "in: " + in + "; ";
  if (!out.empty()) text += "out: " + out + "; ";
  const auto first = std::ranges::mismatch(then, now).in1 - then.begin();
  return text + "first at " + std::to_string(first);
}

std::vector<std::string> words_of(const nlohmann::json& list) {
  std::vector<std::string> words;
  for (const auto& one : list)
    words.push_back(one.is_string()
                        ? one.get<std::string>()
                        : one.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace));
  return words;
}

// The largest change of one metric over an experiment's comparisons on a device.
struct Moved {
  std::int64_t comparisons = 0;
  double size = -1;  // |log ratio|; infinite from or to zero
  std::string largest;
};

class Differ {
 public:
  Differ(const RunResult& before, const RunResult& after) : before_(before), after_(after) {}

  RunDifference run() {
    compare_origin();
    std::set<std::string> ids;
    for (const RunResult* run : {&before_, &after_}) {
      for (const ExperimentResult& experiment : run->experiments) ids.insert(experiment.id);
    }
    for (const std::string& id : ids) compare_experiment(id);
    std::ranges::stable_sort(made_.changes, {}, &RunChange::weight);
    return std::move(made_);
  }

 private:
  void add(Weight weight, const std::string& experiment, const std::string& device,
           const std::string& what) {
    made_.changes.push_back({weight, experiment, device, what});
  }
  void add_if_changed(const std::string& experiment, const std::string& name,
                      const std::string& then, const std::string& now,
                      const std::string& device = "") {
    if (then != now) add(Weight::kOther, experiment, device, name + ": " + then + " -> " + now);
  }

  void compare_origin() {
    const RunInfo& then = before_.info;
    const RunInfo& now = after_.info;
    add_if_changed("", "version", then.version, now.version);
    add_if_changed("", "code", short_hash(then.code_sha256), short_hash(now.code_sha256));
    add_if_changed("", "subject program", short_hash(then.subject_sha256),
                   short_hash(now.subject_sha256));
    add_if_changed("", "ledger head", short_hash(then.ledger_head.value_or("")),
                   short_hash(now.ledger_head.value_or("")));
    compare_processors(member(then.environment, kProcessor), member(now.environment, kProcessor));
    if (then.dirty == false && now.dirty == true) {
      add(Weight::kOther, "", "", "the checkout is modified");
    }
    if (before_.ended && !after_.ended) add(Weight::kWorse, "", "", "did not end");
  }

  // Each of its fields that differs, a list by what is in it.
  void compare_processors(const nlohmann::json& then, const nlohmann::json& now) {
    std::set<std::string> names;
    for (const nlohmann::json* one : {&then, &now}) {
      for (const auto& [name, value] : one->items()) names.insert(name);
    }
    for (const std::string& name : names) {
      const nlohmann::json &was = member(then, name.c_str()), &is = member(now, name.c_str());
      if (was == is) continue;
      const std::string what = "processor " + name;
      if (was.is_array() && is.is_array()) {
        add(Weight::kOther, "", "", what + ": " + list_difference(words_of(was), words_of(is)));
      } else {
        add_if_changed("", what, joined(words_of({was})), joined(words_of({is})));
      }
    }
  }

  void compare_experiment(const std::string& id) {
    const ExperimentResult* then = find(before_, id);
    const ExperimentResult* now = find(after_, id);
    if (then == nullptr) return only_in_one(Weight::kOnlyAfter, *now);
    if (now == nullptr) return only_in_one(Weight::kOnlyBefore, *then);
    std::set<std::string> devices;
    for (const ExperimentResult* one : {then, now}) {
      for (const DeviceResult& device : one->judgement.devices) devices.insert(device.device);
    }
    bool common = false;
    for (const std::string& device : devices) common |= compare_device(*then, *now, device);
    if (!common) return;
    ++made_.common_experiments;
    add_if_changed(id, "spec", short_hash(then->spec_sha256), short_hash(now->spec_sha256));
  }

  void only_in_one(Weight which, const ExperimentResult& experiment) {
    bool ran = false;
    for (const DeviceResult& device : experiment.judgement.devices)
      ran |= ran_on(&experiment, device.device) != nullptr;
    if (ran) add(which, experiment.id, "", verdict_text(experiment));
  }

  // Did both run it there, by one engine?
  bool compare_device(const ExperimentResult& then, const ExperimentResult& now,
                      const std::string& device) {
    const DeviceResult *was = ran_on(&then, device), *is = ran_on(&now, device);
    const auto engines_then = engines(then, device), engines_now = engines(now, device);
    const bool same = engines_then.empty() || engines_now.empty() || engines_then == engines_now;
    if (was == nullptr || is == nullptr || !same) {
      if (was) only_on(Weight::kOnlyBefore, before_, then, *was, engines_then);
      if (is) only_on(Weight::kOnlyAfter, after_, now, *is, engines_now);
      return false;
    }
    const Grade from = grade(before_, then, *was), to = grade(after_, now, *is);
    if (from.word != to.word) {
      const bool reached = was->verdict != Verdict::kNotRun && is->verdict != Verdict::kNotRun;
      add(reached ? weight_of(from.badness, to.badness) : Weight::kOther, now.id, device,
          from.word + " -> " + to.word + (is->reason.empty() ? "" : ": " + is->reason));
    }
    if (was->comparisons > 0 && is->comparisons > 0) {
      for (const char* which : {"subject", "reference"})
        add_if_changed(now.id, which, versions(then, device, which), versions(now, device, which),
                       device);
    }
    compare_comparisons(then, now, device);
    return true;
  }

  void only_on(Weight which, const RunResult& run, const ExperimentResult& experiment,
               const DeviceResult& device, const std::set<std::string>& by) {
    add(which, experiment.id, device.device,
        grade(run, experiment, device).word +
            (by.empty() ? "" : " (" + joined({by.begin(), by.end()}) + ")"));
  }

  static std::map<std::string, const ComparisonResult*> made_on(const ExperimentResult& experiment,
                                                                const std::string& device) {
    std::map<std::string, const ComparisonResult*> made;
    for (const ComparisonResult& one : experiment.comparisons) {
      if (one.measurement() && one.key.device == device) made[key_text(one.key)] = &one;
    }
    return made;
  }

  void compare_comparisons(const ExperimentResult& then, const ExperimentResult& now,
                           const std::string& device) {
    const auto was = made_on(then, device), is = made_on(now, device);
    std::vector<std::string> only_then, only_now;
    std::map<std::string, Moved> moved;  // by metric
    for (const auto& [key, one] : was) {
      const auto other = is.find(key);
      if (other == is.end()) {
        only_then.push_back(key);
        continue;
      }
      ++made_.common_comparisons;
      compare_metrics(now, *one, *other->second, moved);
    }
    for (const auto& [key, one] : is) {
      if (!was.contains(key)) only_now.push_back(key);
    }
    tell(Weight::kOnlyBefore, now.id, device, only_then);
    tell(Weight::kOnlyAfter, now.id, device, only_now);
    for (const auto& [metric, change] : moved) {
      add(Weight::kOther, now.id, device,
          metric + " changed in " + counted(change.comparisons) + "; most " + change.largest);
    }
  }

  static std::string counted(std::int64_t count) {
    return std::to_string(count) + (count == 1 ? " comparison" : " comparisons");
  }

  void tell(Weight which, const std::string& id, const std::string& device,
            const std::vector<std::string>& keys) {
    if (keys.empty()) return;
    add(which, id, device,
        counted(std::ssize(keys)) + ": " + keys.front() + (keys.size() > 1 ? " and others" : ""));
  }

  void compare_metrics(const ExperimentResult& experiment, const ComparisonResult& then,
                       const ComparisonResult& now, std::map<std::string, Moved>& moved) {
    for (const auto& [name, value] : now.measurement()->metrics) {
      const auto was = then.measurement()->metrics.find(name);
      if (was == then.measurement()->metrics.end()) continue;
      const auto size = change_of(experiment, now.key.device, name, was->second, value);
      if (!size) continue;
      Moved& most = moved[name];
      ++most.comparisons;
      if (*size <= most.size) continue;
      most.size = *size;
      most.largest = metric_text(was->second) + " -> " + metric_text(value) +
                     ratio(*size, was->second, value) + " in " + key_text(now.key) +
                     first_difference(now, name);
    }
  }

  // Of lists: where the later run's first difference is, and what is in and out there.
  std::string first_difference(const ComparisonResult& now, const std::string& metric) const {
    const auto& found = member(member(now.measurement()->record, "differences"), metric.c_str());
    const auto &subject = member(found, "subject"), &expected = member(found, "reference");
    if (!subject.is_array() || !expected.is_array()) return "";
    const auto position = integer_of(member(found, "position"));
    std::string text = "; now ";
    if (const auto index = integer_of(member(found, "index")))
      text += "in list " + std::to_string(*index) + ", ";
    std::vector<std::string> is, should;
    for (const auto& [list, words] : {std::pair(&expected, &should), std::pair(&subject, &is)}) {
      for (const auto& entry : *list) words->push_back(entry_text(entry));
    }
    std::string what = list_difference(should, is);
    // The record has what stands about the place; which place it is it says itself.
    if (position)
      what = what.substr(0, what.rfind("first at ")) + "first at " + std::to_string(*position);
    return text + what;
  }

  // "27 '<'"
  std::string entry_text(const nlohmann::json& entry) const {
    const Program& program = after_.info.program;
    const nlohmann::json& column = member(entry, program.column_field.c_str());
    if (column.is_null()) return words_of({entry})[0];
    const std::string text = string_of(member(entry, program.column_text_field.c_str()));
    return words_of({column})[0] + (text.empty() ? "" : " '" + text + "'");
  }

  static std::string ratio(double size, const MetricValue& then, const MetricValue& now) {
    if (!std::isfinite(size) || size == 0) return "";
    const bool up = as_number(now) > as_number(then);
    return " (" + number_text(std::round(100 * std::exp(size)) / 100) + " times " +
           (up ? "larger" : "smaller") + ")";
  }

  // |log ratio| when it is a change, 0 for one that has no ratio; nullopt when it is none.
  std::optional<double> change_of(const ExperimentResult& experiment, const std::string& device,
                                  const std::string& metric, const MetricValue& then,
                                  const MetricValue& now) const {
    const double* from = std::get_if<double>(&then);
    const double* to = std::get_if<double>(&now);
    if (from == nullptr || to == nullptr) {
      return then == now ? std::nullopt : std::optional(0.0);
    }
    if (std::isnan(*from) && std::isnan(*to)) return std::nullopt;
    if (*from == *to) return std::nullopt;
    if (!std::isfinite(*from) || !std::isfinite(*to)) return HUGE_VAL;
    const double larger = std::max(std::fabs(*from), std::fabs(*to));
    const double smaller = std::min(std::fabs(*from), std::fabs(*to));
    if (!is_noise_floor(experiment) && larger <= floor_of(experiment.model, device, metric)) {
      return std::nullopt;
    }
    if (smaller == 0) return HUGE_VAL;
    const double size = std::log(larger / smaller);
    return size > std::log(kMetricFactor) ? std::optional(size) : std::nullopt;
  }

  double floor_of(const std::string& model, const std::string& device,
                  const std::string& metric) const {
    double floor = -1;
    for (const RunResult* run : {&before_, &after_}) {
      if (const auto measured = noise_floor(*run, model, device, metric)) {
        floor = std::max(floor, measured->value);
      }
    }
    return floor;
  }

  const RunResult& before_;
  const RunResult& after_;
  RunDifference made_;
};

}  // namespace

bool RunDifference::got_worse() const {
  return std::ranges::any_of(
      changes, [](const RunChange& change) { return change.weight == Weight::kWorse; });
}

RunDifference difference(const RunResult& before, const RunResult& after) {
  return Differ(before, after).run();
}

std::string RunChange::where() const {
  if (experiment.empty()) return "the run";
  return experiment + (device.empty() ? "" : " on " + device);
}

std::string change_text(const RunChange& change, const std::string& before,
                        const std::string& after) {
  const bool then = change.weight == Weight::kOnlyBefore, now = change.weight == Weight::kOnlyAfter;
  return change.where() + (then || now ? ": only in " + (then ? before : after) : "") + ": " +
         change.what;
}

std::string difference_headline(const RunDifference& difference) {
  std::string text;
  const auto count = [&](Weight weight) {
    return std::ranges::count(difference.changes, weight, &RunChange::weight);
  };
  const auto add = [&](Weight weight, const char* word, const char* words) {
    const auto found = count(weight);
    if (found == 0) return;
    text += (text.empty() ? "" : ", ") + std::to_string(found) + " " + (found == 1 ? word : words);
  };
  add(Weight::kWorse, "worse", "worse");
  add(Weight::kBetter, "better", "better");
  add(Weight::kOther, "other change", "other changes");
  if (text.empty()) text = "nothing changed";
  const auto alone = count(Weight::kOnlyBefore) + count(Weight::kOnlyAfter);
  return alone == 0 ? text : text + "; " + std::to_string(alone) + " in one run only";
}

}  // namespace octlm::verify
