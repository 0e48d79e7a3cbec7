#include "experiments/commands/json_output.h"

#include <algorithm>
#include <ostream>
#include <set>

namespace octlm::experiments {
namespace {

using Json = nlohmann::ordered_json;

const char* type_name(verify::MetricDefinition::Type type) {
  using Type = verify::MetricDefinition::Type;
  return type == Type::kNumber ? "number" : type == Type::kBool ? "bool" : "agreement";
}

const char* better_name(verify::MetricDefinition::Better better) {
  using Better = verify::MetricDefinition::Better;
  switch (better) {
    case Better::kLower:
      return "lower";
    case Better::kHigher:
      return "higher";
    case Better::kTrue:
      return "true";
    case Better::kNeither:
      return "neither";
  }
  return "";
}

Json metric_json(const verify::MetricDefinition& metric) {
  return {{"name", metric.name},
          {"meaning", metric.meaning},
          {"unit", metric.unit},
          {"type", type_name(metric.type)},
          {"better", better_name(metric.better)},
          {"params", metric.params}};
}

const char* weight_name(verify::RunChange::Weight weight) {
  using Weight = verify::RunChange::Weight;
  switch (weight) {
    case Weight::kWorse:
      return "worse";
    case Weight::kBetter:
      return "better";
    case Weight::kOther:
      return "other";
    case Weight::kOnlyBefore:
      return "only_in_a";
    case Weight::kOnlyAfter:
      return "only_in_b";
  }
  return "";
}

Json run_json(const verify::RunResult& run) {
  return {{"folder", run.info.folder.string()},
          {"started", run.info.started},
          {"commit", run.info.commit},
          {"code_sha256", run.info.code_sha256},
          {"ended", run.ended}};
}

}  // namespace

void print_document(std::ostream& out, const Json& document) {
  out << document.dump(1, ' ', false, Json::error_handler_t::replace) << '\n';
}

Json kinds_json(const std::vector<verify::Kind>& kinds) {
  Json list = Json::array();
  for (const auto& kind : kinds) {
    Json metrics = Json::array();
    for (const auto& metric : kind.metrics) metrics.push_back(metric.name);
    list.push_back({{"name", kind.name},
                    {"summary", kind.summary},
                    {"role", verify::role_name(kind.role)},
                    {"parts", kind.parts},
                    {"metrics", metrics},
                    {"faults", kind.faults}});
  }
  return {{"kinds", list}};
}

Json metrics_list_json(const std::vector<verify::Kind>& kinds) {
  Json list = Json::array();
  std::set<std::string> listed;
  const auto add = [&](const std::vector<verify::MetricDefinition>& metrics) {
    for (const auto& metric : metrics) {
      if (listed.insert(metric.name).second) list.push_back(metric_json(metric));
    }
  };
  add(verify::metric_definitions());
  for (const auto& kind : kinds) add(kind.metrics);
  return {{"metrics", list}};
}

Json faults_json(const std::vector<verify::Kind>& kinds) {
  Json list = Json::array();
  std::set<std::string> listed;
  for (const auto& kind : kinds) {
    for (const std::string& fault : kind.faults) {
      if (!listed.insert(fault).second) continue;
      Json of = Json::array();
      for (const auto& other : kinds) {
        if (std::ranges::find(other.faults, fault) != other.faults.end()) of.push_back(other.name);
      }
      list.push_back({{"name", fault}, {"kinds", of}});
    }
  }
  return {{"faults", list}};
}

Json listed_json(const verify::Spec& spec, const verify::Trust& trust, const std::string& state) {
  const auto model = spec.raw.find("model");
  const bool named = model != spec.raw.end() && model->is_object();
  return {{"id", spec.id},
          {"title", spec.title},
          {"kind", spec.kind},
          {"tags", spec.tags},
          {"model", named ? Json(model->value("id", "")) : Json("")},
          {"label", trust.label},
          {"state", state},
          {"why", trust.why},
          {"spec", spec.file.string()},
          {"spec_sha256", spec.sha256}};
}

Json history_json(const verify::LedgerLine& line) {
  Json made = {{"time", line.time}, {"entry", line.entry}, {"sha256", line.sha256}};
  for (const char* name : {"commit", "reason", "class", "changes", "prior_results", "spec_sha256",
                           "run", "verdict", "label"}) {
    const auto found = line.fields.find(name);
    if (found != line.fields.end()) made[name] = *found;
  }
  return made;
}

Json attempt_json(const verify::Attempt& attempt) {
  return {{"time", attempt.time},
          {"device", attempt.intent.key.device},
          {"engines", attempt.engines},
          {"verdict", attempt.result ? Json(attempt.result->verdict) : Json(nullptr)},
          {"comparisons", attempt.result ? Json(attempt.result->comparisons) : Json(nullptr)},
          {"label", attempt.intent.label},
          {"run", attempt.intent.run},
          {"spec_sha256", attempt.intent.key.spec_sha256},
          {"code_sha256", attempt.intent.key.code_sha256},
          {"intent", attempt.sha256}};
}

Json audit_json(const verify::Audit& audit, int exit_code) {
  Json findings = Json::array();
  for (const auto& finding : audit.findings) {
    findings.push_back(
        {{"problem", finding.problem}, {"where", finding.where}, {"what", finding.what}});
  }
  return {{"findings", findings},
          {"problems", std::ranges::count(audit.findings, true, &verify::Finding::problem)},
          {"claims", audit.claims},
          {"reports", audit.reports},
          {"attempts", audit.attempts},
          {"exit_code", exit_code}};
}

Json difference_json(const verify::RunResult& before, const verify::RunResult& after,
                     const verify::RunDifference& difference, int exit_code) {
  Json changes = Json::array();
  for (const auto& change : difference.changes) {
    changes.push_back({{"change", weight_name(change.weight)},
                       {"experiment", change.experiment},
                       {"device", change.device},
                       {"what", change.what}});
  }
  return {{"a", run_json(before)},
          {"b", run_json(after)},
          {"changes", changes},
          {"experiments", difference.common_experiments},
          {"comparisons", difference.common_comparisons},
          {"got_worse", difference.got_worse()},
          {"exit_code", exit_code}};
}

}  // namespace octlm::experiments
