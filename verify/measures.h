// Which numbers a comparison shows, told apart from which spec asks for them. Prior results are known
// by these: a failed claim that is copied under another id, with its cases reversed, renamed or left
// out in part, with a device, a path or a text more, would measure again what was seen before. The
// metric does not enter: with each comparison all of them are recorded.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "verify/kind.h"
#include "verify/spec.h"

namespace octlm::verify {

// Of each of the experiment's comparisons, in order: a sha256 over kind, path, device, dtype, and
// what its kind says is measured; where it says nothing, the spec's model, the case without its name
// and with its files by content, and the parameters.
std::vector<std::string> measures(const Spec& spec, const Experiment& experiment);

// Of one comparison, of which the kind says so.
std::string measure(std::string_view kind, const ComparisonKey& key,
                    const nlohmann::json& measured);

}  // namespace octlm::verify
