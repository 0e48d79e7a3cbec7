#include "verify/report/text.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <set>

#include "verify/lenient_json.h"
#include "verify/report/facts.h"

namespace octlm::verify {
namespace {

std::string limit_text(const std::variant<double, bool>& limit) {
  const bool* truth = std::get_if<bool>(&limit);
  return truth ? (*truth ? "true" : "false") : number_text(std::get<double>(limit));
}

void add_seconds(std::optional<double>& total, const nlohmann::json& record, const char* side) {
  const auto seconds = record.find("seconds");
  if (seconds == record.end() || !seconds->is_object()) return;
  const auto value = seconds->find(side);
  if (value != seconds->end() && value->is_number())
    total = total.value_or(0) + value->get<double>();
}

std::string plural(std::int64_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

// 1349870 -> "1,349,870"
std::string grouped(std::int64_t count) {
  std::string text = std::to_string(count);
  for (std::ptrdiff_t at = std::ssize(text) - 3; at > 0; at -= 3)
    text.insert(static_cast<std::size_t>(at), ",");
  return text;
}

// An experiment between two engines that turn out to be one is a comparison of it with itself.
Role role_of(const ExperimentResult& experiment) {
  const bool same = experiment.role == Role::kParity && !is_parity(experiment);
  return same ? Role::kSelf : experiment.role;
}

// The engines that one side of the experiments of a role had.
std::string engines_of(const RunResult& run, Role role, const char* which) {
  std::set<std::string> names;
  for (const ExperimentResult& experiment : run.experiments) {
    if (role_of(experiment) != role) continue;
    for (const ComparisonResult& comparison : experiment.comparisons)
      names.insert(side_of(comparison, which).engine);
  }
  names.erase("");
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : " and ") + name;
  return text;
}

std::string between(const RunResult& run, Role role) {
  switch (role) {
    case Role::kParity: {
      const std::string reference = engines_of(run, role, "reference");
      return " against " + (reference.empty() ? "a reference" : reference);
    }
    case Role::kSelf: {
      const std::string subject = engines_of(run, role, "subject");
      return " of " + (subject.empty() ? "the subject" : subject) + " against itself";
    }
    case Role::kNoiseFloor:
      return " of the reference against itself";
    case Role::kFile:
      return " of files";
  }
  return "";
}

void add_items(std::map<std::string, std::int64_t>& items, const nlohmann::json& of) {
  if (!of.is_object()) return;
  for (const auto& [noun, count] : of.items()) items[noun] += integer_of(count).value_or(0);
}

std::string items_text(const std::map<std::string, std::int64_t>& items) {
  std::string text;
  for (const auto& [noun, count] : items)
    text += (text.empty() ? " (" : ", ") + grouped(count) + " " + noun;
  return text.empty() ? "" : text + ")";
}

}  // namespace

const char* verdict_words(Verdict verdict) {
  return verdict == Verdict::kNotRun ? "not run" : verdict_name(verdict);
}

const char* bound_sign(Criterion::Bound bound) {
  switch (bound) {
    case Criterion::Bound::kAtMost:
      return " <= ";
    case Criterion::Bound::kAtLeast:
      return " >= ";
    case Criterion::Bound::kEquals:
      return " = ";
  }
  return "";
}

std::string verdict_text(const ExperimentResult& experiment) {
  std::string text;
  for (const DeviceResult& device : experiment.judgement.devices) {
    if (!text.empty()) text += " · ";
    text += std::string(verdict_words(device.verdict)) + " (" + device.device + ")";
  }
  const bool passes = std::ranges::any_of(experiment.judgement.devices, [](const auto& device) {
    return device.verdict == Verdict::kPass;
  });
  if (passes && experiment.lacks_teeth()) text += "; teeth not shown";
  return text.empty() ? verdict_words(experiment.judgement.verdict) : text;
}

const CriterionResult* decisive_criterion(const ExperimentResult& experiment) {
  const std::vector<CriterionResult>& criteria = experiment.judgement.criteria;
  const CriterionResult* decisive = nullptr;
  for (const CriterionResult& one : criteria) {
    if (one.holds == false) return &one;
    const bool more = !decisive || one.used.value_or(-1) > decisive->used.value_or(-1);
    if (one.holds && more) decisive = &one;
  }
  return decisive;
}

std::string criterion_text(const CriterionResult& criterion) {
  if (!criterion.value) return criterion.holds ? "missing" : "not measured";
  const std::string value = metric_text(*criterion.value);
  if (criterion.implied) return value + ": must be finite";
  // A failing number is not said to be below its bound.
  const std::string sign = criterion.holds == false ? " not" : "";
  return value + sign + bound_sign(criterion.bound) + limit_text(criterion.limit);
}

std::string used_text(const CriterionResult& criterion) {
  return criterion.used ? share_text(*criterion.used) : "-";
}

std::string share_text(double share) {
  char text[32];
  if (share >= 10) {
    std::snprintf(text, sizeof text, share < 1e4 ? "%.0f times" : "%.1e times", share);
  } else if (share != 1 && std::round(100 * share) == 100) {
    return share > 1 ? "over 100 %" : "under 100 %";  // what failed is not said to be just used up
  } else {
    std::snprintf(text, sizeof text, share < 0.01 ? "%.2g %%" : "%.0f %%", 100 * share);
  }
  return text;
}

std::string short_number(double value) {
  if (!std::isfinite(value) || value == 0) return number_text(value);
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", value);
  if (std::fabs(value) < 0.01 || std::fabs(value) >= 1e4)
    std::snprintf(text, sizeof text, "%.2e", value);
  std::string said = text;
  const std::size_t e = said.find('e');
  if (e == std::string::npos) return said;
  std::string mantissa = said.substr(0, e);
  while (mantissa.back() == '0') mantissa.pop_back();
  if (mantissa.back() == '.') mantissa.pop_back();
  return mantissa + "e" + std::to_string(std::atoi(said.c_str() + e + 1));
}

SideSeconds side_seconds(const ExperimentResult& experiment) {
  SideSeconds seconds;
  for (const ComparisonResult& comparison : experiment.comparisons) {
    if (const Measurement* measured = comparison.measurement()) {
      add_seconds(seconds.subject, measured->record, "subject");
      add_seconds(seconds.reference, measured->record, "reference");
    }
  }
  return seconds;
}

std::vector<NotChecked> not_checked(const RunResult& run) {
  std::vector<NotChecked> list;
  for (const ExperimentResult& experiment : run.experiments) {
    struct Group {
      std::string device, reason, first;
      std::int64_t count = 0;
    };
    std::vector<Group> groups;
    for (const ComparisonResult& comparison : experiment.comparisons) {
      if (comparison.measurement()) continue;
      const NotRun* not_run = comparison.not_run();
      const std::string reason = not_run ? not_run->reason : "error: " + comparison.broken()->what;
      auto group = std::find_if(groups.begin(), groups.end(), [&](const Group& known) {
        return known.device == comparison.key.device && known.reason == reason;
      });
      if (group == groups.end()) {
        group = groups.insert(groups.end(),
                              {comparison.key.device, reason, key_text(comparison.key), 0});
      }
      ++group->count;
    }
    for (const Group& group : groups) {
      list.push_back(
          {experiment.id,
           group.count == 1 ? group.first : group.device + ": " + plural(group.count, "comparison"),
           group.reason});
    }
    if (experiment.comparisons.empty()) {
      list.push_back({experiment.id, "everything", experiment.judgement.reason});
    }
  }
  for (const std::string& id : run.not_started) {
    const bool cut = run.interrupted_by != 0 || !run.ended;
    list.push_back({id, "everything",
                    cut ? "the run was interrupted before it"
                        : "not started: the run was to end at its first failure"});
  }
  std::int64_t known = 0;
  for (const ExperimentResult& experiment : run.experiments) {
    known += std::ssize(experiment.comparisons);
  }
  if (const std::int64_t lost = run.info.planned - known; lost > 0 && !run.ended) {
    list.push_back({"", plural(lost, "planned comparison"), "the run did not end"});
  }
  return list;
}

std::string trust_text(const Trust& trust) {
  const Trust::Attempts* most = nullptr;
  for (const auto& [device, attempts] : trust.attempts) {
    if (most == nullptr || attempts.attempt > most->attempt) most = &attempts;
  }
  if (most == nullptr || most->attempt == 0) return trust.label;
  std::string text = trust.label + ", attempt " + std::to_string(most->attempt);
  if (most->failed > 0) text += ", of which " + std::to_string(most->failed) + " failed";
  if (most->abandoned > 0) text += ", " + std::to_string(most->abandoned) + " never ended";
  if (!most->engines.empty()) text += ", of " + most->engines;
  return text;
}

std::string headline(const RunResult& run) {
  const Summary& summary = run.summary;
  std::string text;
  const auto add = [&](std::int64_t count, const char* word) {
    if (count > 0) text += (text.empty() ? "" : ", ") + std::to_string(count) + " " + word;
  };
  add(summary.fail, "fail");
  add(summary.error, "error");
  add(summary.not_run, "not run");
  add(summary.pass, "pass");
  add(summary.uncounted, "pass that does not count");
  const Tally made = tally(run);
  const std::string parts = tally_text(run, made);
  return text + ". " + std::to_string(made.made) + " of " +
         plural(made.planned, "planned comparison") + (made.planned == 1 ? " was" : " were") +
         " made" + (parts.empty() ? "" : ": " + parts) + ".";
}

Tally tally(const RunResult& run) {
  Tally tally;
  for (const ExperimentResult& experiment : run.experiments) {
    tally.planned += experiment.planned;
    if (experiment.compared() == 0) continue;
    tally.made += experiment.compared();
    const Role role = role_of(experiment);
    tally.by_role[role] += experiment.compared();
    if (role != Role::kParity) continue;
    for (const ComparisonResult& comparison : experiment.comparisons) {
      if (const Measurement* measured = comparison.measurement())
        add_items(tally.items, member(measured->record, "items"));
    }
  }
  tally.planned = std::max(tally.planned, run.info.planned);
  return tally;
}

std::string tally_text(const RunResult& run, const Tally& tally) {
  std::string text;
  for (const Role role : kRoles) {
    const auto made = tally.by_role.find(role);
    if (made == tally.by_role.end()) continue;
    text += (text.empty() ? "" : ", ") + grouped(made->second) + between(run, role);
    if (role == Role::kParity) text += items_text(tally.items);
  }
  return text;
}

}  // namespace octlm::verify
