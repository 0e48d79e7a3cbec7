// What `octlm new` writes: a spec to start from, which its kind reads as it stands.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "verify/kind.h"

namespace octlm::experiments {

// The envelope around Kind::start. REQUIRES that the kind has one. `schema`: where an editor finds
// docs/spec.schema.json; "": not said. Throws what Kind::start throws.
nlohmann::ordered_json new_spec(const verify::Kind& kind, const std::string& id,
                                const std::string& subject, const std::string& schema = "");

}  // namespace octlm::experiments
