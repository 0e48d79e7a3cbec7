// What `octlm new` writes: a spec to start from, which its kind reads as it stands.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "verify/kind.h"

namespace octlm::experiments {

// The envelope around Kind::start. REQUIRES that the kind has one. Throws what that throws.
nlohmann::ordered_json new_spec(const verify::Kind& kind, const std::string& id,
                                const std::string& subject);

}  // namespace octlm::experiments
