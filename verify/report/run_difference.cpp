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

// The engines and versions on one side of an experiment's comparisons.
std::string versions(const ExperimentResult& experiment, const char* which) {
  std::vector<std::string> names;
  for (const ComparisonResult& comparison : experiment.comparisons) {
    const Side side = side_of(comparison, which);
    if (!side.known()) continue;
    std::string name = side.engine + " " + side.version + " " + side.source;
    if (std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
  }
  return joined(names);
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
  void add(Weight weight, const std::string& where, const std::string& what) {
    made_.changes.push_back({weight, where, what});
  }
  void add_if_changed(const std::string& where, const std::string& name, const std::string& then,
                      const std::string& now) {
    if (then != now) add(Weight::kOther, where, name + ": " + then + " -> " + now);
  }

  void compare_origin() {
    const RunInfo& then = before_.info;
    const RunInfo& now = after_.info;
    add_if_changed("the run", "version", then.version, now.version);
    add_if_changed("the run", "code", short_hash(then.code_sha256), short_hash(now.code_sha256));
    add_if_changed("the run", "subject program", short_hash(then.subject_sha256),
                   short_hash(now.subject_sha256));
    add_if_changed("the run", "ledger head", short_hash(then.ledger_head.value_or("")),
                   short_hash(now.ledger_head.value_or("")));
    const auto processor = [](const RunInfo& info) {
      const nlohmann::json& found = member(info.environment, kProcessor);
      return found.is_null() ? std::string("unknown")
                             : found.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
    };
    add_if_changed("the run", "processor", processor(then), processor(now));
    if (then.dirty == false && now.dirty == true) {
      add(Weight::kOther, "the run", "the checkout is modified");
    }
    if (before_.ended && !after_.ended) add(Weight::kWorse, "the run", "did not end");
  }

  void compare_experiment(const std::string& id) {
    const ExperimentResult* then = find(before_, id);
    const ExperimentResult* now = find(after_, id);
    if (then == nullptr) return only_in_one(*now, after_, false);
    if (now == nullptr) return only_in_one(*then, before_, true);
    ++made_.common_experiments;
    add_if_changed(id, "spec", short_hash(then->spec_sha256), short_hash(now->spec_sha256));
    compare_devices(*then, *now);
    if (then->compared() > 0 && now->compared() > 0) {
      for (const char* which : {"subject", "reference"}) {
        add_if_changed(id, which, versions(*then, which), versions(*now, which));
      }
    }
    compare_comparisons(*then, *now);
  }

  void only_in_one(const ExperimentResult& experiment, const RunResult& run, bool gone) {
    bool pass = false;
    for (const DeviceResult& device : experiment.judgement.devices) {
      pass |= grade(run, experiment, device).badness <= 1;
    }
    const std::string was = verdict_text(experiment);
    add(gone && pass ? Weight::kWorse : Weight::kOther, experiment.id,
        gone ? "is gone; it was " + was : "is new: " + was);
  }

  void compare_devices(const ExperimentResult& then, const ExperimentResult& now) {
    std::set<std::string> devices;
    for (const ExperimentResult* one : {&then, &now}) {
      for (const DeviceResult& device : one->judgement.devices) devices.insert(device.device);
    }
    const Grade absent = {2, "not asked for"};
    for (const std::string& name : devices) {
      const DeviceResult* was = find(then, name);
      const DeviceResult* is = find(now, name);
      const Grade from = was ? grade(before_, then, *was) : absent;
      const Grade to = is ? grade(after_, now, *is) : absent;
      if (from.word == to.word) continue;
      add(weight_of(from.badness, to.badness), now.id + " on " + name,
          from.word + " -> " + to.word + (is && !is->reason.empty() ? ": " + is->reason : ""));
    }
  }

  void compare_comparisons(const ExperimentResult& then, const ExperimentResult& now) {
    std::map<std::string, const ComparisonResult*> was, is;
    for (const auto& one : then.comparisons) {
      if (one.measurement()) was[key_text(one.key)] = &one;
    }
    for (const auto& one : now.comparisons) {
      if (one.measurement()) is[key_text(one.key)] = &one;
    }
    std::vector<std::string> gone, fresh;
    bool held = false;
    std::map<std::pair<std::string, std::string>, Moved> moved;  // device, metric
    for (const auto& [key, one] : was) {
      const auto other = is.find(key);
      if (other == is.end()) {
        gone.push_back(key);
        held |= judged(then, *one).state == ComparisonState::kHeld;
        continue;
      }
      ++made_.common_comparisons;
      compare_metrics(now, *one, *other->second, moved);
    }
    for (const auto& [key, one] : is) {
      if (!was.contains(key)) fresh.push_back(key);
    }
    tell(now.id, gone, "no longer compared", held ? Weight::kWorse : Weight::kOther);
    tell(now.id, fresh, "newly compared", Weight::kOther);
    for (const auto& [of, change] : moved) {
      add(Weight::kOther, now.id + " on " + of.first,
          of.second + " changed in " + counted(change.comparisons) + "; most " + change.largest);
    }
  }

  static std::string counted(std::int64_t count) {
    return std::to_string(count) + (count == 1 ? " comparison" : " comparisons");
  }

  void tell(const std::string& id, const std::vector<std::string>& keys, const std::string& what,
            Weight weight) {
    if (keys.empty()) return;
    add(weight, id,
        counted(std::ssize(keys)) + " " + what + ": " + keys.front() +
            (keys.size() > 1 ? " and others" : ""));
  }

  void compare_metrics(const ExperimentResult& experiment, const ComparisonResult& then,
                       const ComparisonResult& now,
                       std::map<std::pair<std::string, std::string>, Moved>& moved) {
    for (const auto& [name, value] : now.measurement()->metrics) {
      const auto was = then.measurement()->metrics.find(name);
      if (was == then.measurement()->metrics.end()) continue;
      const auto size = change_of(experiment, now.key.device, name, was->second, value);
      if (!size) continue;
      Moved& most = moved[{now.key.device, name}];
      ++most.comparisons;
      if (*size <= most.size) continue;
      most.size = *size;
      most.largest = metric_text(was->second) + " -> " + metric_text(value) +
                     ratio(*size, was->second, value) + " in " + key_text(now.key);
    }
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

std::string change_text(const RunChange& change) { return change.where + ": " + change.what; }

std::string difference_headline(const RunDifference& difference) {
  std::string text;
  const auto add = [&](Weight weight, const char* word, const char* words) {
    const auto count = std::ranges::count(difference.changes, weight, &RunChange::weight);
    if (count == 0) return;
    text += (text.empty() ? "" : ", ") + std::to_string(count) + " " + (count == 1 ? word : words);
  };
  add(Weight::kWorse, "worse", "worse");
  add(Weight::kBetter, "better", "better");
  add(Weight::kOther, "other change", "other changes");
  return text.empty() ? "nothing changed" : text;
}

}  // namespace octlm::verify
