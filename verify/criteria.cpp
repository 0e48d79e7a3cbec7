#include "verify/criteria.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace octlm::verify {
namespace {

std::string written_text(const Criterion& criterion) {
  std::string text = criterion.metric;
  for (const auto& [key, value] : criterion.when) text += " when " + key + " is " + value;
  return text;
}

// The value against the bound. NaN compares false with everything, and so never holds.
bool within(const MetricValue& value, Criterion::Bound bound,
            const std::variant<double, bool>& limit) {
  if (const bool* wanted = std::get_if<bool>(&limit)) {
    const bool* truth = std::get_if<bool>(&value);
    return bound == Criterion::Bound::kEquals && truth != nullptr && *truth == *wanted;
  }
  const double number = as_number(value);
  const double reference = std::get<double>(limit);
  if (!std::isfinite(number) || !std::isfinite(reference)) return false;
  switch (bound) {
    case Criterion::Bound::kAtMost:
      return number <= reference;
    case Criterion::Bound::kAtLeast:
      return number >= reference;
    case Criterion::Bound::kEquals:
      return number == reference;
  }
  return false;
}

std::optional<double> share_used(const MetricValue& value, Criterion::Bound bound,
                                 const std::variant<double, bool>& limit) {
  if (bound == Criterion::Bound::kEquals) return std::nullopt;
  const double number = as_number(value);
  const double reference = std::get<double>(limit);
  const bool at_most = bound == Criterion::Bound::kAtMost;
  const double above = at_most ? number : reference;
  const double below = at_most ? reference : number;
  if (!std::isfinite(above) || !std::isfinite(below) || above < 0 || below <= 0)
    return std::nullopt;
  return above / below;
}

// How bad a value is against its bound, to find the worst of several: non-finite above everything.
double badness(const CriterionResult& criterion, const MetricValue& value) {
  if (criterion.bound == Criterion::Bound::kEquals) {
    return within(value, criterion.bound, criterion.limit) ? 0 : 1;
  }
  const double number = as_number(value);
  if (!std::isfinite(number)) return std::numeric_limits<double>::infinity();
  return criterion.bound == Criterion::Bound::kAtMost ? number : -number;
}

void take_value(CriterionResult& result, const ComparisonKey& key, const MetricValue& value) {
  const bool worse = !result.value || badness(result, value) > badness(result, *result.value);
  if (!worse) return;
  result.value = value;
  result.where = key;
}

bool matches(const std::map<std::string, std::string>& when, const ComparisonKey& key) {
  const std::map<std::string, const std::string*> fields = {{"device", &key.device},
                                                            {"dtype", &key.dtype},
                                                            {"path", &key.path},
                                                            {"case", &key.case_name}};
  return std::all_of(when.begin(), when.end(), [&](const auto& condition) {
    return *fields.at(condition.first) == condition.second;
  });
}

CriterionResult judge_criterion(const Criterion& criterion, const std::string& device,
                                std::span<const ComparisonResult> comparisons) {
  CriterionResult result;
  result.metric = criterion.metric;
  result.device = device;
  result.when = criterion.when;
  result.bound = criterion.bound;
  result.limit = criterion.limit;
  result.derivation = criterion.derivation;
  result.sees_scale = criterion.sees_scale;
  bool held = true;
  const ComparisonKey* lacking = nullptr;
  for (const ComparisonResult& comparison : comparisons) {
    const Measurement* measured = comparison.measurement();
    if (!measured || comparison.key.device != device || !applies(criterion, comparison.key))
      continue;
    ++result.comparisons;
    const auto found = measured->metrics.find(criterion.metric);
    if (found == measured->metrics.end()) {
      if (lacking == nullptr) lacking = &comparison.key;
      continue;
    }
    held &= within(found->second, criterion.bound, criterion.limit);
    take_value(result, comparison.key, found->second);
  }
  if (lacking != nullptr) {
    result.value.reset();
    result.where = *lacking;
    result.holds = false;
    result.note = "not produced by " + key_text(*lacking);
  } else if (result.comparisons > 0) {
    result.holds = held;
    result.used = share_used(*result.value, result.bound, result.limit);
  }
  return result;
}

bool is_finite(const std::string& metric, const MetricValue& value) {
  const double* number = std::get_if<double>(&value);
  if (number != nullptr && !std::isfinite(*number)) return false;
  const bool* truth = std::get_if<bool>(&value);
  return !metric.starts_with("finite@") || (truth != nullptr && *truth);
}

// NaN and infinity fail even where no criterion looks.
void add_implied(std::vector<CriterionResult>& results, const std::string& device,
                 std::span<const ComparisonResult> comparisons) {
  std::map<std::string, CriterionResult> found;  // the first place of each metric
  for (const ComparisonResult& comparison : comparisons) {
    const Measurement* measured = comparison.measurement();
    if (!measured || comparison.key.device != device) continue;
    for (const auto& [name, value] : measured->metrics) {
      if (is_finite(name, value)) continue;
      const double* number = std::get_if<double>(&value);
      const bool not_finite = number != nullptr && !std::isfinite(*number);
      CriterionResult& result = found[name];
      ++result.comparisons;
      if (result.comparisons > 1) continue;
      result.metric = name;
      result.device = device;
      result.bound = Criterion::Bound::kEquals;
      result.limit = true;
      result.value = value;
      result.holds = false;
      result.where = comparison.key;
      result.implied = true;
      result.note = not_finite ? "a metric that is not finite fails" : "an operand is not finite";
    }
  }
  for (auto& [name, result] : found) {
    const bool said =
        std::any_of(results.begin(), results.end(), [&](const CriterionResult& other) {
          return other.metric == name && other.device == device && other.holds == false;
        });
    if (!said) results.push_back(std::move(result));
  }
}

std::string failure_text(const CriterionResult& result) {
  std::string text = result.metric;
  if (result.value) text += " is " + metric_text(*result.value);
  if (!result.note.empty()) {
    text += (result.value ? " (" : " ") + result.note + (result.value ? ")" : "");
  } else {
    const bool* truth = std::get_if<bool>(&result.limit);
    text += std::string(", ") + bound_name(result.bound) + " " +
            (truth ? (*truth ? "true" : "false") : number_text(std::get<double>(result.limit)));
  }
  if (result.note.find(key_text(result.where)) == std::string::npos) {
    text += " in " + key_text(result.where);
  }
  return text;
}

void add_reason(std::string& reasons, const std::string& reason) {
  if (reason.empty() || reasons.find(reason) != std::string::npos) return;
  reasons += (reasons.empty() ? "" : "; ") + reason;
}

// Why the bound says nothing of a comparison: a subject that knows nothing would keep it. "" when
// it says something, or nobody can tell.
std::string emptiness(const Criterion& criterion, const MetricValues& metrics) {
  const MetricDefinition* metric = find_metric(criterion.metric);
  if (criterion.bound != Criterion::Bound::kAtMost || metric == nullptr) return "";
  const auto nothing = metrics.find(metric->of_nothing);
  if (nothing == metrics.end()) return "";
  const double limit = std::get<double>(criterion.limit), value = as_number(nothing->second);
  if (!std::isfinite(value) || limit < value) return "";
  return criterion.metric + " at most " + number_text(limit) +
         " says nothing here: " + metric->of_nothing + " is " + number_text(value) +
         ", so that constant rows would keep it";
}

struct Breakage {
  std::int64_t count = 0;
  std::string first;
};

Breakage find_breakage(const Spec& spec, const std::string& device,
                       std::span<const ComparisonResult> comparisons) {
  Breakage breakage;
  const auto note = [&](const ComparisonResult& comparison, const std::string& what) {
    if (breakage.count++ == 0) breakage.first = key_text(comparison.key) + ": " + what;
  };
  for (const ComparisonResult& comparison : comparisons) {
    if (comparison.key.device != device) continue;
    if (const Broken* broken = comparison.broken()) note(comparison, broken->what);
    if (const Measurement* measured = comparison.measurement()) {
      for (const std::string& metric : spec.also_record) {
        if (!measured->metrics.contains(metric)) {
          note(comparison, metric + ", which also_record lists, was not produced");
        }
      }
      for (const Criterion& criterion : spec.criteria) {
        if (!applies(criterion, comparison.key)) continue;
        if (const std::string why = emptiness(criterion, measured->metrics); !why.empty())
          note(comparison, why);
      }
    }
  }
  return breakage;
}

// Why the device cannot pass although nothing failed or broke; "" when it can.
std::string incompleteness(const DeviceResult& device, std::span<const CriterionResult> criteria,
                           std::span<const ComparisonResult> comparisons) {
  std::string missing, skipped;
  for (const ComparisonResult& comparison : comparisons) {
    const NotRun* not_run = comparison.not_run();
    if (!not_run || comparison.key.device != device.device) continue;
    add_reason(not_run->needs.empty() ? skipped : missing, not_run->reason);
  }
  if (!missing.empty()) return missing;
  if (device.comparisons == 0) return skipped.empty() ? "nothing was compared" : skipped;
  bool judged = false;
  for (const CriterionResult& criterion : criteria) {
    if (criterion.device != device.device) continue;
    judged = true;
    if (!criterion.holds) {
      return criterion.metric + " had no comparison to judge" +
             (skipped.empty() ? "" : ": " + skipped);
    }
  }
  if (!judged) return "no criterion judges it";
  return "";
}

void decide_device(DeviceResult& device, const Spec& spec,
                   std::span<const CriterionResult> criteria,
                   std::span<const ComparisonResult> comparisons) {
  for (const CriterionResult& criterion : criteria) {
    if (criterion.device == device.device && criterion.holds == false) {
      device.verdict = Verdict::kFail;
      add_reason(device.reason, failure_text(criterion));
    }
  }
  if (device.verdict == Verdict::kFail) return;
  if (const Breakage broken = find_breakage(spec, device.device, comparisons); broken.count > 0) {
    device.verdict = Verdict::kError;
    device.reason = broken.first;
    if (broken.count > 1) device.reason += " (and " + std::to_string(broken.count - 1) + " more)";
    return;
  }
  device.reason = incompleteness(device, criteria, comparisons);
  device.verdict = device.reason.empty() ? Verdict::kPass : Verdict::kNotRun;
}

bool is_for(const Scale& scale, const ComparisonKey& key) {
  return scale.paths.empty() || std::ranges::find(scale.paths, key.path) != scale.paths.end();
}

// Why a comparison could hold although the two sides are not equal: nothing that judges it bounds
// their difference where a fault would show. "" when something does, or its kind claims no
// equality.
std::string missing_scale(const Spec& spec, const ComparisonKey& key) {
  std::string wanted;
  for (const Scale& scale : spec.scales) {
    if (!is_for(scale, key)) continue;
    const bool bounded = std::ranges::any_of(spec.criteria, [&](const Criterion& one) {
      return one.metric == scale.metric && one.sees_scale && applies(one, key);
    });
    if (bounded) return "";
    wanted += (wanted.empty() ? "" : ", or ") + scale.metric + " no looser than " +
              number_text(scale.loosest);
  }
  if (wanted.empty()) return "";
  return "$.criteria: none bounds the difference of " + key_text(key) +
         " where a fault would show: it needs " + wanted;
}

std::vector<DeviceResult> list_devices(std::span<const ComparisonResult> comparisons) {
  std::vector<DeviceResult> devices;
  for (const ComparisonResult& comparison : comparisons) {
    auto device = std::find_if(devices.begin(), devices.end(), [&](const DeviceResult& known) {
      return known.device == comparison.key.device;
    });
    if (device == devices.end()) {
      device = devices.emplace(devices.end());
      device->device = comparison.key.device;
    }
    ++device->planned;
    if (comparison.measurement()) ++device->comparisons;
  }
  return devices;
}

void decide_experiment(Judgement& judgement) {
  const auto any = [&](Verdict verdict) {
    return std::any_of(judgement.devices.begin(), judgement.devices.end(),
                       [&](const DeviceResult& device) { return device.verdict == verdict; });
  };
  for (const Verdict worst : {Verdict::kFail, Verdict::kError, Verdict::kPass}) {
    if (any(worst)) {
      judgement.verdict = worst;
      break;
    }
  }
  const bool several = judgement.devices.size() > 1;
  for (const DeviceResult& device : judgement.devices) {
    if (device.reason.empty()) continue;
    add_reason(judgement.reason, (several ? device.device + ": " : "") + device.reason);
  }
  if (judgement.devices.empty()) judgement.reason = "no comparison was asked for";
}

}  // namespace

bool applies(const Criterion& criterion, const ComparisonKey& key) {
  return matches(criterion.when, key);
}

std::optional<OneJudged> judge_one(const CriterionResult& criterion,
                                   const ComparisonResult& comparison) {
  const Measurement* measured = comparison.measurement();
  if (!measured || comparison.key.device != criterion.device) return std::nullopt;
  if (!matches(criterion.when, comparison.key)) return std::nullopt;
  const auto value = measured->metrics.find(criterion.metric);
  // An implicit rule speaks only where it was broken.
  if (criterion.implied) {
    const bool broken = value != measured->metrics.end() && !is_finite(value->first, value->second);
    return broken ? std::optional(OneJudged{false, std::nullopt}) : std::nullopt;
  }
  if (value == measured->metrics.end()) return OneJudged{false, std::nullopt};
  return OneJudged{within(value->second, criterion.bound, criterion.limit),
                   share_used(value->second, criterion.bound, criterion.limit)};
}

Judgement judge(const Spec& spec, std::span<const ComparisonResult> comparisons,
                const std::map<std::string, std::string>& failed_before) {
  Judgement judgement;
  judgement.devices = list_devices(comparisons);
  for (DeviceResult& device : judgement.devices) {
    for (const Criterion& criterion : spec.criteria) {
      const bool planned = std::any_of(
          comparisons.begin(), comparisons.end(), [&](const ComparisonResult& comparison) {
            return comparison.key.device == device.device && applies(criterion, comparison.key);
          });
      if (planned) {
        judgement.criteria.push_back(judge_criterion(criterion, device.device, comparisons));
      }
    }
    add_implied(judgement.criteria, device.device, comparisons);
    decide_device(device, spec, judgement.criteria, comparisons);
    const auto failed = failed_before.find(device.device);
    if (device.verdict == Verdict::kPass && failed != failed_before.end()) {
      device.verdict = Verdict::kFail;
      device.reason =
          "it holds now, but failed before with the same spec, code and engines: the attempt of " +
          failed->second;
    }
  }
  decide_experiment(judgement);
  return judgement;
}

std::string plan_problem(const Spec& spec, std::span<const ComparisonKey> plan) {
  if (plan.empty()) return "it plans no comparison";
  for (auto key = plan.begin(); key != plan.end(); ++key) {
    if (std::find(plan.begin(), key, *key) != key) return "it plans " + key_text(*key) + " twice";
    const bool judged = std::any_of(spec.criteria.begin(), spec.criteria.end(),
                                    [&](const Criterion& one) { return applies(one, *key); });
    if (!judged) return "no criterion judges " + key_text(*key);
    if (std::string missing = missing_scale(spec, *key); !missing.empty()) return missing;
  }
  for (const Criterion& criterion : spec.criteria) {
    const bool used = std::any_of(plan.begin(), plan.end(), [&](const ComparisonKey& key) {
      return applies(criterion, key);
    });
    if (!used) return "no comparison is judged by " + written_text(criterion);
  }
  return "";
}

}  // namespace octlm::verify
