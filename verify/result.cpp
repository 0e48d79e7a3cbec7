#include "verify/result.h"

#include <algorithm>

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
