#include "verify/result.h"

#include <algorithm>

#include "verify/lenient_json.h"

namespace octlm::verify {

const char* verdict_name(Verdict verdict) {
  switch (verdict) {
    case Verdict::kPass:
      return "pass";
    case Verdict::kFail:
      return "fail";
    case Verdict::kNotRun:
      return "not_run";
    case Verdict::kError:
      return "error";
  }
  return "";
}

void Trust::note_reasons(const nlohmann::json& identity) {
  const nlohmann::json& reasons = member(identity, kUncountedBecause);
  if (!reasons.is_array()) return;
  for (const nlohmann::json& reason : reasons) {
    if (std::ranges::find(uncounted_because, string_of(reason)) == uncounted_because.end())
      uncounted_because.push_back(string_of(reason));
  }
}

void Trust::settle_reasons() {
  if (uncounted_because.empty() || !counts()) return;
  why = label + " in the ledger, but ";
  for (const std::string& reason : uncounted_because)
    why += (&reason == &uncounted_because.front() ? "" : "; ") + reason;
  label = "uncounted";
}

std::string key_text(const ComparisonKey& key) {
  std::string text;
  for (const std::string* part : {&key.case_name, &key.path, &key.device, &key.dtype}) {
    if (!part->empty()) text += (text.empty() ? "" : ", ") + *part;
  }
  return text;
}

std::int64_t ExperimentResult::compared() const {
  return std::count_if(comparisons.begin(), comparisons.end(),
                       [](const ComparisonResult& one) { return one.measurement() != nullptr; });
}

}  // namespace octlm::verify
