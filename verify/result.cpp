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

void Trust::note_unpinned(const nlohmann::json& identity) {
  const nlohmann::json& names = member(identity, kUnpinned);
  if (!names.is_object()) return;
  for (const auto& [name, sha256] : names.items()) unpinned[name] = string_of(sha256);
}

void Trust::settle_unpinned() {
  if (unpinned.empty() || !counts()) return;
  constexpr std::size_t kNamed = 5;
  std::string names;
  std::size_t n = 0;
  for (const auto& [name, sha256] : unpinned) {
    if (n++ < kNamed) names += (names.empty() ? "" : ", ") + name;
  }
  if (n > kNamed) names += " and " + std::to_string(n - kNamed) + " more";
  why = label + " in the ledger, but files were read that its spec does not pin: " + names +
        "; add them to its model.files, or take them out of the folder";
  label = "unpinned";
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
