// The shortest beginning of a failing case that still fails: the same experiment, measured again on
// prefixes of the case's ids, judged by the criteria that judged the case.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "experiments/engines/environment.h"
#include "formats/error.h"
#include "verify/kind.h"
#include "verify/result.h"
#include "verify/spec.h"

namespace octlm::experiments {

// What one prefix measures, and what the criteria say of it.
struct PrefixResult {
  verify::ComparisonResult comparison;
  verify::Judgement judgement;
};

struct Reduction {
  std::vector<std::int32_t> token_ids;  // the prefix
  std::size_t of = 0;                   // ids of the whole case
  bool bisected = false;                // else every shorter prefix was measured, and holds
  std::int64_t measured = 0;            // prefixes that were
  PrefixResult result;
  std::optional<PrefixResult> shorter;  // one id less, where that was measured
  nlohmann::json spec;                  // an experiment of the prefix alone
};

// Bisects where a prefix that fails makes every longer one fail: each criterion is about the worst
// row, and the path divides a prefix as it divides the whole. Else it begins at one id. The engines
// are opened once for up to 1,024 prefixes.
// Throws std::invalid_argument when the case has no ids to shorten or does not fail again;
// std::runtime_error when it cannot be measured here, with the reason.
Reduction reduce_case(const verify::Spec& spec, const verify::ComparisonKey& failing,
                      const Environment& environment, const std::vector<verify::Kind>& kinds);

// The spec with only this case, of these ids, as `id`: only the device and path of the key, and the
// criteria that judge it.
nlohmann::json prefix_spec(const nlohmann::json& spec, const verify::ComparisonKey& key,
                           const std::vector<std::int32_t>& ids,
                           const std::vector<std::size_t>& lengths, const std::string& id);

}  // namespace octlm::experiments
